import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { dump } from 'js-yaml';
import type { Cluster } from '../env/cluster/cluster.ts';
import { writeOciLayout } from '../env/cluster/images/oci-layout.ts';
import { addBusybox } from '../env/cluster/images/rootfs.ts';
import { sweepMachines } from '../env/cluster/machine.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { apply, kubectl, podOf, shell } from '../support/cluster/cluster-kubectl.ts';
import { machineState, namespacesOf, tracesOf } from '../support/cluster/cluster-traces.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';

/** A first run installs, builds and makes what there is not yet. */
const PREPARATION_MS = 30 * 60_000;
jest.setTimeout(120_000);

let cluster: Cluster;
let before: ReturnType<typeof machineState>;

const NONE = { processes: [], networks: [], cables: [], mounts: [], cgroups: [], rules: [], files: [] };

const WEB = {
  name: 'web',
  image: 'busybox',
  command: ['sh', '-c', 'mkdir /www && hostname >/www/index.html && echo serving && exec httpd -f -h /www'],
};

/** A layout of busybox with a file that tells one from another; it goes with the cluster. */
async function makeImage(version: string): Promise<string> {
  const directory = join(cluster.machine.directory, `image-${version}`);
  const [layout, rootfs] = [join(directory, 'layout'), join(directory, 'rootfs')];
  await addBusybox(rootfs);
  await writeFile(join(rootfs, 'version'), version);
  await writeOciLayout(layout, rootfs, { Cmd: ['sh'] });
  return layout;
}

/** What a new pod finds in that file. The image's tag is not `latest`, so a node that has it does not ask for it again. */
async function versionIn(name: string): Promise<string> {
  await apply(
    cluster,
    podOf(name, { image: 'app:1', command: ['cat', '/version'] }, { restartPolicy: 'Never' }),
  );
  await kubectl(cluster, `wait pod/${name} --for=jsonpath={.status.phase}=Succeeded --timeout=60s`);
  return kubectl(cluster, `logs ${name}`);
}

describeWithNode('a cluster of one node', () => {
  beforeAll(async () => {
    before = machineState();
    cluster = await startCluster();
    await apply(
      cluster,
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: 'web' } },
          template: {
            metadata: { labels: { app: 'web' } },
            spec: {
              terminationGracePeriodSeconds: 0,
              containers: [{ ...WEB, readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } }],
            },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web' },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      },
      podOf('client', {}),
    );
    await kubectl(cluster, 'rollout status deployment/web --timeout=90s');
    await kubectl(cluster, 'wait pod/client --for=condition=Ready --timeout=90s');
  }, PREPARATION_MS);

  afterAll(async () => {
    await cluster?.stop();
  });

  test('runs a Deployment, and pulls an image by the short name and the policy that manifests use', async () => {
    const { items } = JSON.parse(await kubectl(cluster, 'get pods -l app=web -o json'));
    expect(items).toHaveLength(2);
    for (const { spec, status } of items) {
      expect(spec.containers[0]).toMatchObject({ image: 'busybox', imagePullPolicy: 'Always' });
      expect(status.containerStatuses[0].imageID).toMatch(/^docker\.io\/library\/busybox@sha256:/);
    }
  });

  test('sends a pod that asks a Service, by its address or by its name, to each of the pods behind it', async () => {
    const address = await kubectl(cluster, 'get service/web -o jsonpath={.spec.clusterIP}');
    const answers = [address, 'web', 'web.default.svc.cluster.local'].map((host) =>
      shell(cluster, 'client', `for i in $(seq 40); do wget -qO- http://${host}; done | sort -u`),
    );
    const names = await kubectl(cluster, 'get pods -l app=web -o jsonpath={.items[*].metadata.name}');
    const both = names
      .split(' ')
      .toSorted()
      .map((name) => `${name}\n`)
      .join('');
    await expect(Promise.all(answers)).resolves.toEqual([both, both, both]);
  });

  test('lets a pod reach the API server, and gives it a token of its service account', async () => {
    const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
    const script = `nc -w 1 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null && cat ${mounted}/namespace`;
    const { code, stdout, stderr } = await cluster.kubectl(['exec', 'client', '--', 'sh', '-c', script]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'default', stderr: '' });
    const token = await kubectl(cluster, `exec client -- cat ${mounted}/token`);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const reviewed = JSON.parse(await kubectl(cluster, 'create -o json -f -', dump(review)));
    expect(reviewed.status.user.username).toBe('system:serviceaccount:default:default');
  });

  test('runs a pod in a namespace that enforces pod security `restricted`', async () => {
    await apply(cluster, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'strict', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
    const status = ['grep', '-E', '^(Uid|CapBnd|NoNewPrivs|Seccomp):', '/proc/self/status'];
    const security = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    };
    const spec = {
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    };
    await kubectl(
      cluster,
      'apply --namespace strict -f -',
      dump(podOf('strict', { command: status, securityContext: security }, spec)),
    );
    await kubectl(
      cluster,
      'wait pod/strict --namespace strict --for=jsonpath={.status.phase}=Succeeded --timeout=60s',
    );
    const logged = (await kubectl(cluster, 'logs strict --namespace strict'))
      .split('\n')
      .map((line) => line.split('\t'));
    expect(logged).toEqual([
      ['Uid:', '65532', '65532', '65532', '65532'],
      ['CapBnd:', '0000000000000000'],
      ['NoNewPrivs:', '1'],
      ['Seccomp:', '2'],
      [''],
    ]);
  });

  test('gives the next pod another image by a name that pods have used', async () => {
    await cluster.loadImage('app:1', await makeImage('first'));
    await expect(versionIn('before')).resolves.toBe('first');
    await cluster.loadImage('app:1', await makeImage('second'));
    await expect(versionIn('after')).resolves.toBe('second');
  });

  test('is gone without a trace once it is stopped, its pods still running', async () => {
    const { machine } = cluster;
    const namespaces = namespacesOf(machine);
    const during = tracesOf(machine, namespaces);
    expect(during).toMatchObject({ mounts: [], rules: [] });
    for (const kind of ['processes', 'networks', 'cables', 'cgroups', 'files'] as const) {
      expect({ kind, seen: during[kind].length > 0 }).toEqual({ kind, seen: true });
    }
    await cluster.stop();
    expect({ traces: tracesOf(machine, namespaces), state: machineState() }).toEqual({
      traces: NONE,
      state: before,
    });
  });

  test('starts again after that, and leaves nothing when all that looks after it is killed', async () => {
    cluster = await startCluster();
    const { machine } = cluster;
    const namespaces = namespacesOf(machine);
    process.kill(cluster.controlPlane.supervisor.pid ?? 0, 'SIGKILL');
    await cluster.failure;
    await cluster.stop();
    await sweepMachines();
    expect({ traces: tracesOf(machine, namespaces), state: machineState() }).toEqual({
      traces: NONE,
      state: before,
    });
  });
});
