import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { STATE_LABEL } from '../../src/addons/rollout/controller-revision.ts';
import { ENVOY_FILES } from '../../src/injection/envoy/files.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../src/injection/webhook/default-template.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import { PAUSE_IMAGE } from '../env/cluster/container-config.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { ask, HttpLoad, underLoad } from '../support/cluster/http-load.ts';
import { OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { deployment, readyAt, service, serving } from '../support/cluster/traffic-workloads.ts';
import { describeWithNode } from '../support/jest/describe-with-cluster.ts';
import { operatorCalls } from '../support/operator/rights.ts';

/** A first run builds the node and all images. */
const PREPARATION_MS = 60 * 60_000;
/** Of a rollout: each pod is drained for seconds, and its sidecar takes ten to end. */
const ROLLOUT_MS = 15 * 60_000;
const SLOWLY = { boundMs: ROLLOUT_MS, everyMs: 1_000 };
jest.setTimeout(ROLLOUT_MS + 60_000);

/** Of each Deployment. With E2E_ROLLOUT_REPLICAS=10, 20 pods share the node: each needs a part of a CPU of its own. */
const REPLICAS = Number(process.env.E2E_ROLLOUT_REPLICAS ?? 3);
/** Minutes of waiting each, so only make rollout-on-node has them. */
const longer = (name: string) =>
  process.env.E2E_ROLLOUT_REPLICAS === undefined
    ? ([`${name} (skipped: make rollout-on-node runs it)`, test.skip] as const)
    : ([name, test] as const);
const APPS = ['ordinary', 'native'] as const;
const OLD = 'envoyproxy/envoy:v1.40.0';
/** The same Envoy under another name. */
const NEW = 'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1';
const FAILURES = 2;
const STRATEGY = `
mode: in-place
maxUnavailable: 30%
perMinute: 1000
breaker: {failures: ${FAILURES}, of: 10, within: 45s, then: back}
`;

let cluster: Cluster;
let operator: OperatorInCluster;

const run = (args: string | readonly string[], input?: string) => kubectl(cluster, args, input);
const say = (text: string) => void process.stderr.write(`      ${text}\n`);

interface ContainerJson {
  readonly name: string;
  readonly image: string;
  readonly containerID?: string;
  readonly restartCount: number;
  readonly resources?: { readonly requests?: { readonly cpu?: string } };
}

interface PodJson {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations: Record<string, string>;
  };
  readonly spec: { readonly containers: ContainerJson[]; readonly initContainers?: ContainerJson[] };
  readonly status: {
    readonly containerStatuses?: ContainerJson[];
    readonly initContainerStatuses?: ContainerJson[];
    readonly conditions?: { readonly type: string; readonly status: string }[];
  };
}

async function pods(): Promise<readonly PodJson[]> {
  return JSON.parse(await run('get pods --selector fleet=yes -o json')).items;
}

/** The default template, and the same as a native sidecar. */
function templates({ image = OLD, cpu = '20m' } = {}): Record<string, string> {
  const config = DEFAULT_TEMPLATE_YAML.replace(OLD, image)
    .replace('cpu: 100m', `cpu: ${cpu}`)
    .replace('- "2"', '- "1"');
  const native = config.replace(
    'containers:\n  - name: envoy\n',
    'initContainers:\n  - name: envoy\n    restartPolicy: Always\n',
  );
  return { config, 'config.native': native };
}

async function write(data: Record<string, string>): Promise<void> {
  const patch = JSON.stringify({ data: { ...data, rollout: STRATEGY } });
  await run(['patch', 'configmap', OPERATOR, `--namespace=${OPERATOR}`, '--type=merge', '--patch', patch]);
}

const sidecarIn = ({ spec }: PodJson) =>
  [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === 'envoy');
const stateOf = ({ status }: PodJson, name: string) =>
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(
    (each) => each.name === name,
  );
const isReady = ({ status }: PodJson) =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
const isDrained = ({ metadata }: PodJson) => 'initializer.kubernetes.io/drain' in metadata.annotations;

/** The applications, as they must be before and after: not restarted, and not another pod. */
async function applications(): Promise<unknown> {
  return (await pods())
    .map((pod) => ({
      uid: pod.metadata.uid,
      id: stateOf(pod, 'app')?.containerID,
      restarts: stateOf(pod, 'app')?.restartCount,
    }))
    .toSorted((a, b) => (a.uid < b.uid ? -1 : 1));
}

async function settled(what: string, isDone: (pod: PodJson) => boolean): Promise<void> {
  await eventually(
    what,
    async () => {
      const all = await pods();
      return (
        all.length === APPS.length * REPLICAS &&
        all.every((pod) => isDone(pod) && isReady(pod) && !isDrained(pod))
      );
    },
    SLOWLY,
  );
}

async function loads(): Promise<HttpLoad[]> {
  return Promise.all(
    APPS.map(async (name) => {
      const port = await run(`get service ${name} -o jsonpath={.spec.ports[0].nodePort}`);
      const url = `http://${cluster.machine.address}:${port}/`;
      // kube-proxy follows the readiness of pods a moment later.
      await eventually(`${name} answers`, async () => (await ask(url)).status === 200);
      return new HttpLoad(url, 10);
    }),
  );
}

/** Rolls out under load: no request fails, and no application restarts. */
async function rolledOut(
  what: string,
  act: () => Promise<void>,
  isDone: (pod: PodJson) => boolean,
): Promise<void> {
  const before = await applications();
  const since = await writes();
  const load = await loads();
  const start = performance.now();
  await underLoad(load, async () => {
    await act();
    await settled(what, isDone);
  });
  await eventually(
    'the template is promoted',
    async () =>
      (await operator.kubectl(`get controllerrevisions --selector ${STATE_LABEL}=canary -o name`)) === '',
    SLOWLY,
  );
  const sent = load.reduce((sum, { answered, failures }) => sum + answered + failures.length, 0);
  const failures = load.flatMap((each) => each.failures);
  const after = await writes();
  const most = Math.max(...[...after].map(([pod, count]) => count - (since.get(pod) ?? 0)));
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  say(`${what}: ${seconds} s, ${failures.length} of ${sent} requests failed, at most ${most} writes per pod`);
  expect(failures).toEqual([]);
  expect(await applications()).toEqual(before);
  expect(most).toBeLessThanOrEqual(3);
}

/** How often the operator has written each pod. */
async function writes(): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { verb, resource, name, uri, code } of await operatorCalls(cluster.controlPlane.auditLogPath)) {
    // The last requests of a killed leader are answered with an error, and change nothing.
    if (verb === 'patch' && code === 200 && !uri.includes('dryRun') && /^pods(\/resize)?$/.test(resource))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function events(reason: string): Promise<readonly string[]> {
  const { items } = JSON.parse(
    await operator.kubectl(`get events.events.k8s.io --field-selector reason=${reason} -o json`),
  );
  return (items as { note: string }[]).map(({ note }) => note);
}

/** The process that leads, also of those that a pod has had. */
function leaseHolder(): Promise<string> {
  return operator.kubectl(`get lease/${OPERATOR} --output jsonpath={.spec.holderIdentity}`);
}

describeWithNode('a rollout', () => {
  beforeAll(async () => {
    cluster = await startCluster({ images: ['busybox', 'envoy', 'envoy-initializer'], auditLog: 'Metadata' });
    operator = new OperatorInCluster({ kubectl: (...args) => cluster.kubectl(...args), own: cluster });
    await run(`apply -k ${join(projectDirectory(), 'deploy', 'overlays', 'rollout')}`);
    await operator.rolledOut();
    await operator.kubectl(`wait configmap/${OPERATOR} --for=create --timeout=60s`);
    await write(templates());
    // Pods of the template before would have to be replaced.
    await eventually('new pods get the templates', async () => {
      const pod = podOf('probe', {}, {}, { labels: OPTED_IN });
      const flags = '--dry-run=server --output jsonpath={.spec.containers[*].resources.requests.cpu}';
      return (await run(`create ${flags} --filename -`, JSON.stringify(pod))) === '20m';
    });
    for (const name of APPS) {
      const app = { ...serving(name, ['127.0.0.1:8080']), ...readyAt(80) };
      const selects = name === 'native' ? { 'initializer.kubernetes.io/envoy-templates': 'native' } : {};
      const object = deployment(name, selects, { containers: [app] }) as {
        spec: { replicas: number; template: { metadata: { labels: Record<string, string> } } };
      };
      object.spec.replicas = REPLICAS;
      object.spec.template.metadata.labels.fleet = 'yes';
      await apply(cluster, object, service(name, 80));
    }
    for (const name of APPS) await run(`rollout status deployment/${name} --timeout=600s`);
  }, PREPARATION_MS);

  afterAll(async () => {
    await stopCluster(cluster);
  });

  test('a rollout brings another image to all pods, while the leader is killed three times', async () => {
    await rolledOut(
      'image',
      async () => {
        await write(templates({ image: NEW }));
        for (let kills = 1; kills <= 3; kills += 1) {
          await eventually(
            'more pods are under way',
            async () => (await pods()).filter((pod) => sidecarIn(pod)?.image === NEW).length >= 2 * kills,
            SLOWLY,
          );
          const holder = await leaseHolder();
          const pod = (await operator.pods()).find(({ name }) => holder.startsWith(`${name}_`));
          if (!pod) throw new Error('there is no leader');
          await operator.kill(pod);
          await eventually(
            'another process leads',
            async () => ![holder, ''].includes(await leaseHolder()),
            SLOWLY,
          );
        }
      },
      (pod) => sidecarIn(pod)?.image === NEW,
    );
  });

  test('a rollout brings cpu to all pods, without a restart of anything', async () => {
    const before = new Map(
      (await pods()).map((pod) => [pod.metadata.uid, stateOf(pod, 'envoy')?.containerID]),
    );
    await rolledOut(
      'cpu',
      () => write(templates({ image: NEW, cpu: '25m' })),
      (pod) => stateOf(pod, 'envoy')?.resources?.requests?.cpu === '25m',
    );
    expect(
      new Map((await pods()).map((pod) => [pod.metadata.uid, stateOf(pod, 'envoy')?.containerID])),
    ).toEqual(before);
  });

  const [configuration, testConfiguration] = longer('a rollout brings a changed envoy.json to all pods');
  testConfiguration(configuration, async () => {
    const changed = (ENVOY_FILES['envoy.json'] ?? '').replace(
      '"stat_prefix": "http"',
      '"stat_prefix": "changed"',
    );
    const patch = JSON.stringify({ data: { 'envoy.json': changed } });
    const before = new Map(
      (await pods()).map((pod) => [pod.metadata.uid, stateOf(pod, 'envoy')?.restartCount ?? 0]),
    );
    await rolledOut(
      'envoy.json',
      async () => {
        await run([
          'patch',
          'configmap',
          'envoy',
          `--namespace=${OPERATOR}`,
          '--type=merge',
          '--patch',
          patch,
        ]);
      },
      (pod) => (stateOf(pod, 'envoy')?.restartCount ?? 0) > (before.get(pod.metadata.uid) ?? 0),
    );
    for (const { metadata } of await pods()) {
      const stats = 'wget -qO- http://127.0.0.1:9901/stats?filter=http.changed.downstream_cx_total';
      expect(await run(['exec', metadata.name, '-c', 'app', '--', 'sh', '-c', stats])).toContain('changed');
    }
  });

  const stops = async (what: string, image: string) => {
    const before = await applications();
    const told = (await events('RolloutHalted')).length;
    const start = performance.now();
    const touched = new Set<string>();
    await write(templates({ image, cpu: '25m' }));
    await eventually(
      'the rollout is halted',
      async () => {
        for (const pod of await pods()) if (sidecarIn(pod)?.image === image) touched.add(pod.metadata.uid);
        return (await events('RolloutHalted')).length > told;
      },
      SLOWLY,
    );
    const stopped = performance.now() - start;
    await settled('all pods are back', (pod) => {
      if (sidecarIn(pod)?.image === image) touched.add(pod.metadata.uid);
      return sidecarIn(pod)?.image !== image;
    });
    const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
    say(
      `an image that ${what}: ${touched.size} pods touched, stopped after ${seconds(stopped)}, back after ${seconds(performance.now() - start)}`,
    );
    expect(touched.size).toBeGreaterThan(0);
    expect(touched.size).toBeLessThanOrEqual(FAILURES);
    expect(await applications()).toEqual(before);
    for (const note of (await events('RolloutHalted')).slice(told)) say(note);
  };
  test('a rollout stops and goes back if an image crashes', () =>
    stops('crashes', 'envoy-initializer:0.0.1'));
  for (const [what, image] of [
    ['cannot be pulled', 'localhost/nowhere/envoy:v1'],
    ['never gets ready', PAUSE_IMAGE],
  ] as const) {
    const [name, testImage] = longer(`a rollout stops and goes back if an image ${what}`);
    testImage(name, () => stops(what, image));
  }
});
