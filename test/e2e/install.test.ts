import { readlink } from 'node:fs/promises';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { deploy } from '../../hack/deploy/deploy.ts';
import { VERSION } from '../../src/kube/util/version.ts';
import { runCli } from '../../src/program.ts';
import { linkOf } from '../env/cluster/registry/image-links.ts';
import { parseReference } from '../env/cluster/registry/reference.ts';
import { eventually } from '../env/eventually.ts';
import { MemoryTerminal } from '../support/cli/memory-terminal.ts';
import { AdmissionLoad, OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { type E2eCluster, startE2eCluster, type TEST_NAMESPACES } from '../support/cluster/e2e-cluster.ts';
import { DEFAULT_OVERLAY, OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeWithCluster, testWithNode } from '../support/jest/describe-with-cluster.ts';
import { connect } from '../support/operator/api-access.ts';

/** A first run builds the node, Envoy's image and our own. */
const PREPARATION_MS = 60 * 60_000;
const NAMESPACE: (typeof TEST_NAMESPACES)[number] = 'e2e-install';
/** Of deploy/envoy/envoy.json, as the application's container reaches it. */
jest.setTimeout(300_000);

let cluster: E2eCluster;
let operator: OperatorInCluster;

/** kubectl in the namespace of the tests. */
function run(args: string): Promise<string> {
  return kubectl(cluster, `--namespace ${NAMESPACE} ${args}`);
}

/** What kubectl said in refusing. */
async function refusal(object: object): Promise<string> {
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  return code === 0 ? '' : stderr;
}

function podIn(namespace: string, name: string, labels: object, annotations: object = {}): object {
  return podOf(name, {}, {}, { namespace, labels, annotations });
}

async function containersOf(namespace: string, name: string): Promise<string> {
  return kubectl(cluster, `get pod ${name} --namespace ${namespace} -o jsonpath={.spec.containers[*].name}`);
}

describeWithCluster('one kubectl apply', () => {
  beforeAll(async () => {
    cluster = await startE2eCluster({
      images: ['busybox', 'envoy', 'envoy-initializer'],
    });
    operator = new OperatorInCluster(cluster);
    await operator.install();
    await kubectl(cluster, `create namespace ${NAMESPACE}`);
  }, PREPARATION_MS);

  afterAll(() => cluster?.stop());

  test('one kubectl apply gives two replicas that are ready, and that the API server trusts', async () => {
    expect(await operator.pods()).toMatchObject([{ ready: true }, { ready: true }]);
    const authority = await operator.kubectl('get secret envoy-initializer-tls -o jsonpath={.data.ca\\.crt}');
    const path = '{.webhooks[*].clientConfig.caBundle}';
    const bundles = await operator.kubectl(
      `get mutatingwebhookconfiguration ${OPERATOR} -o jsonpath=${path}`,
    );
    expect(authority).not.toBe('');
    expect(new Set(bundles.split(' '))).toEqual(new Set([authority]));
  });

  testWithNode('a deleted replica has a successor that gets ready', async () => {
    const [pod] = await operator.pods();
    const known = new Set((await operator.pods()).map(({ name }) => name));
    await operator.kubectl(`delete pod ${pod?.name} --wait=false`);
    let age = { ms: 0, cpuMs: 0 };
    await eventually('its successor is ready', async () => {
      const successor = (await operator.pods()).find(({ name, ready }) => ready && !known.has(name));
      if (successor === undefined) return false;
      age = await operator.age(successor);
      return true;
    });
    const [ready, cpu] = [age.ms, age.cpuMs].map((ms) => (ms / 1000).toFixed(2));
    process.stderr.write(
      `      ready ${ready} s after the start of its process, of which it had a CPU for ${cpu} s\n`,
    );
    expect(age.ms).toBeGreaterThan(0);
    await operator.kubectl(`wait pod ${pod?.name} --for=delete --timeout=60s`);
  });

  testWithNode('status has no problem after a replica was killed', async () => {
    const [pod] = await operator.pods();
    if (pod === undefined) throw new Error('there is no replica');
    await operator.kill(pod);
    await eventually('the killed replica is back', async () =>
      (await operator.pods()).some(({ name, ready, restarts }) => name === pod.name && ready && restarts > 0),
    );
    const status = new MemoryTerminal();
    const argv = ['node', OPERATOR, 'status', '-o', 'json', `--kubeconfig=${cluster.kubeconfigPath}`];
    expect(await runCli(argv, status)).toBe(0);
    const rows: readonly { readonly check: string; readonly state: string }[] = JSON.parse(status.stdout);
    expect(rows.filter(({ state }) => state === 'problem' || state === 'unknown')).toEqual([]);
  });

  test('a Job with a sidecar completes', async () => {
    const job = podOf(
      '',
      { command: ['sh', '-c', 'echo done'] },
      { restartPolicy: 'Never' },
      { labels: OPTED_IN },
    );
    const { spec, metadata } = job as {
      readonly spec: object;
      readonly metadata: { readonly labels: object };
    };
    await apply(cluster, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'job', namespace: NAMESPACE },
      spec: { template: { metadata: { labels: metadata.labels }, spec } },
    });
    await run('wait job/job --for=condition=Complete --timeout=120s');
    const sidecars = '{.items[*].spec.initContainers[*].name}';
    expect(await run(`get pods --selector job-name=job -o jsonpath=${sidecars}`)).toBe('envoy');
  });

  testWithNode(
    'the operator goes from one image to the next and back, while pods opt in, and leaves no difference',
    async () => {
      const { own } = cluster;
      if (own === undefined) return;
      const current = await readlink(linkOf(own.images, parseReference('envoy-initializer:0.0.1')));
      await own.loadImage('envoy-initializer:next', current);
      const api = connect(cluster.kubeconfigPath);
      const load = new AdmissionLoad(api.client, NAMESPACE);
      load.start();
      const kubectlOf = (args: readonly string[], options?: { readonly input?: string }) =>
        cluster.kubectl(args, options);
      for (const tag of ['next', VERSION]) {
        const image = `envoy-initializer:${tag}`;
        await deploy({ kubectl: kubectlOf, overlay: 'default', image, timeoutSeconds: 120, say: () => {} });
        const running = await operator.kubectl(
          'get pods --selector app=envoy-initializer -o jsonpath={.items[*].spec.containers[0].image}',
        );
        expect(running.split(' ')).toContain(image);
      }
      await load.stop();
      await api.close();
      expect({ refusals: load.refusals, bare: load.bare }).toEqual({ refusals: [], bare: [] });
      const { code, stdout } = await cluster.kubectl(['diff', '-k', DEFAULT_OVERLAY]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    },
  );

  test('only pods that opt in themselves and need the webhook are refused while no replica answers', async () => {
    const optedIn = { 'initializer.kubernetes.io/envoy': 'true' };
    await run(`label namespace ${NAMESPACE} initializer.kubernetes.io/envoy=true`);
    await operator.scale(0);
    // What the API server's own policies can inject, they do. (Somebody else's may be older, and have none.)
    if (cluster.own !== undefined) {
      expect(await refusal(podIn(NAMESPACE, 'plain', optedIn))).toBe('');
      expect(await containersOf(NAMESPACE, 'plain')).toBe('main envoy');
    }
    const override = { 'initializer.kubernetes.io/envoy-cpu-request': '1' };
    const asking = podIn(NAMESPACE, 'asks', optedIn, override);
    expect(await refusal(asking)).toMatch(/failed calling webhook "envoy\.initializer\.kubernetes\.io"/);
    for (const [namespace, name, labels, annotations] of [
      [NAMESPACE, 'declines', { 'initializer.kubernetes.io/envoy': 'false' }, {}],
      [NAMESPACE, 'says-nothing', {}, override],
      ['kube-system', 'e2e-system', optedIn, {}],
    ] as const) {
      expect(await refusal(podIn(namespace, name, labels, annotations))).toBe('');
      expect(await containersOf(namespace, name)).toBe('main');
    }
    await kubectl(cluster, 'delete pod e2e-system --namespace kube-system --now');
    await operator.scale(2);
    expect(await refusal(asking)).toBe('');
    expect(await containersOf(NAMESPACE, 'asks')).toBe('main envoy');
  });
});
