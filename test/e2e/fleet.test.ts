import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CONFIG_MAPS } from '../../src/kube/api/core-resources.ts';
import { runCli } from '../../src/program.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { eventually } from '../env/eventually.ts';
import { MemoryTerminal } from '../support/cli/memory-terminal.ts';
import { hasSidecar, OPTED_IN } from '../support/cluster/admission-load.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { type E2eCluster, startE2eCluster, type TEST_NAMESPACES } from '../support/cluster/e2e-cluster.ts';
import { FollowedPods, isHealthy } from '../support/cluster/followed-pods.ts';
import { OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { describeWithCluster, testWithNode } from '../support/jest/describe-with-cluster.ts';
import { type ApiAccess, connect } from '../support/operator/api-access.ts';
import { watchUntil } from '../support/time/watch-until.ts';

/** A first run builds the node, Envoy's image and our own. */
const PREPARATION_MS = 60 * 60_000;
const NAMESPACE: (typeof TEST_NAMESPACES)[number] = 'e2e-fleet';
const COPIES: (typeof TEST_NAMESPACES)[number] = 'e2e-copies';
/** With a pod of nobody, 50 pods. */
const APPS = 7;
const REPLICAS = 7;
const MIN_AVAILABLE = 44;
jest.setTimeout(300_000);

let cluster: E2eCluster;
let operator: OperatorInCluster;
let api: ApiAccess;
let pods: FollowedPods;
let manifests: string;

/** kubectl in the namespace of the tests. */
function run(args: string): Promise<string> {
  return kubectl(cluster, `--namespace ${NAMESPACE} ${args}`);
}

/** One core has room for the sidecars of all. */
const annotations = { 'initializer.kubernetes.io/envoy-cpu-request': '10m' };
const labels = { fleet: 'yes' };
const podSpec = {
  // As long as the sidecar's preStop hook sleeps: nobody would wait for `sleep` to end.
  terminationGracePeriodSeconds: 10,
  containers: [{ name: 'app', image: 'busybox', command: ['sleep', '3600'] }],
};

function deployment(n: number): object {
  const app = { app: `app-${n}` };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `app-${n}`, namespace: NAMESPACE },
    spec: {
      replicas: REPLICAS,
      selector: { matchLabels: app },
      template: { metadata: { labels: { ...app, ...labels }, annotations }, spec: podSpec },
    },
  };
}

/** The value of a metric of the leader's. */
async function metric(series: string): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${OPERATOR}/pods/${await operator.leader()}:8080/proxy/metrics`;
  const lines = (await kubectl(cluster, `get --raw ${path}`)).split('\n');
  return lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1);
}

/** Names of the pods that repair has evicted. */
async function evicted(): Promise<readonly string[]> {
  const events = 'get events.events.k8s.io --field-selector reason=EvictedForSidecar';
  return (await run(`${events} -o jsonpath={.items[*].regarding.name}`)).split(' ').filter(Boolean);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

async function drift(...args: readonly string[]) {
  const terminal = new MemoryTerminal({});
  const line = ['node', OPERATOR, 'drift', `--kubeconfig=${cluster.kubeconfigPath}`, ...args];
  const code = await runCli(line, terminal);
  return { code, lines: terminal.stdout.split('\n').filter(Boolean), err: terminal.stderr };
}

describeWithCluster('the fleet', () => {
  beforeAll(async () => {
    cluster = await startE2eCluster({
      images: ['busybox', 'envoy', 'envoy-initializer'],
    });
    operator = new OperatorInCluster(cluster);
    const overlay = join(projectDirectory(), 'deploy', 'overlays', 'repair');
    // By its own policies the API server would inject without any webhook.
    manifests = (await kubectl(cluster, `kustomize ${overlay}`)).replace(
      /^( *)- --repair=evict$/m,
      '$&\n$1- --policy=off',
    );
    await kubectl(cluster, 'apply -f -', manifests);
    await operator.rolledOut();
    await operator.kubectl(`wait configmap/${OPERATOR} --for=create --timeout=60s`);
    api = connect(cluster.kubeconfigPath);
    const budget = { minAvailable: MIN_AVAILABLE, selector: { matchLabels: labels } };
    await apply(
      cluster,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels: OPTED_IN } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: COPIES } },
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'fleet', namespace: NAMESPACE },
        spec: budget,
      },
    );
    pods = new FollowedPods(api.client, NAMESPACE, 'fleet=yes');
  }, PREPARATION_MS);

  afterAll(async () => {
    await pods?.stop();
    await api?.close();
    await cluster?.stop();
  });

  test('is left alone by repair after the first few, while the webhook stays away', async () => {
    await kubectl(cluster, `delete mutatingwebhookconfiguration ${OPERATOR}`);
    const began = performance.now();
    await apply(
      cluster,
      ...Array.from({ length: APPS }, (_, n) => deployment(n)),
      podOf('alone', {}, podSpec, { namespace: NAMESPACE }),
    );
    await run('wait pod/alone --for=condition=Ready --timeout=120s');
    await pods.until('all are ready', (all) => all.filter(isHealthy).length === APPS * REPLICAS);
    pods.fewestHealthy = APPS * REPLICAS;
    const missed = `envoy_initializer_drifted_pods{namespace="${NAMESPACE}",kind="missed"}`;
    await eventually('all are known to be missed', async () => (await metric(missed)) === '50');
    await eventually(
      'repair has stopped',
      async () => (await metric('envoy_initializer_repair_stopped')) === '1',
    );
    // One more is tried after 10 s, then after 20 s, and so on.
    const trials = Math.log2(1 + (performance.now() - began) / 10_000);
    expect((await evicted()).length).toBeGreaterThan(0);
    expect((await evicted()).length).toBeLessThanOrEqual(1 + Math.ceil(trials));
    expect(await operator.kubectl(`logs ${await operator.leader()}`)).toContain(
      '"msg":"repair stopped, evicting no pods"',
    );
  });

  test('gets Envoy’s configuration with the first pod of a namespace, before its containers need it', async () => {
    await kubectl(cluster, 'apply -f -', manifests);
    const bundles = `get mutatingwebhookconfiguration ${OPERATOR} -o jsonpath={.webhooks[*].clientConfig.caBundle}`;
    await eventually('the webhooks are trusted', async () => (await kubectl(cluster, bundles)) !== '');
    const copied = watchUntil(api.client, CONFIG_MAPS, COPIES, ({ metadata }) => metadata.name === 'envoy');
    await apply(cluster, podOf('first', {}, {}, { namespace: COPIES, labels: OPTED_IN }));
    const created = performance.now();
    await copied;
    process.stderr.write(
      `      the ConfigMap was there ${seconds(performance.now() - created)} after the pod\n`,
    );
    await kubectl(cluster, `wait pod/first --namespace ${COPIES} --for=condition=Ready --timeout=120s`);
    const failed = await kubectl(
      cluster,
      `get events --namespace ${COPIES} --field-selector reason=FailedMount -o jsonpath={.items[*].message}`,
    );
    expect(failed).toBe('');
  });

  test('has all its sidecars once the webhook is back, and its budget is kept', async () => {
    const began = performance.now();
    await pods.until('all have their sidecar', (all) => {
      return all.filter((pod) => isHealthy(pod) && hasSidecar(pod)).length === APPS * REPLICAS;
    });
    process.stderr.write(
      `      ${seconds(performance.now() - began)} for ${APPS * REPLICAS} pods, of which ${pods.fewestHealthy} were healthy at the least\n`,
    );
    expect(pods.fewestHealthy).toBeGreaterThanOrEqual(MIN_AVAILABLE);
    expect(await run('get pod alone -o jsonpath={.spec.containers[*].name}')).toBe('app');
    expect(await run('describe pod alone')).toContain('SidecarMissing');
    expect(await drift('-n', NAMESPACE, '-o', 'name')).toEqual({
      code: 1,
      lines: ['pod/alone'],
      err: '',
    });
    expect(await metric('envoy_initializer_repair_stopped')).toBe('0');
  });

  test('is named by drift pod for pod when the template has changed, until it is restarted', async () => {
    await run('delete pod alone --now');
    const template = await operator.kubectl(`get configmap ${OPERATOR} -o jsonpath={.data.config}`);
    const data = { config: template.replace('"2"', '"1"') };
    const patch = `patch configmap ${OPERATOR} --namespace=${OPERATOR} --type=merge --patch`;
    await kubectl(cluster, [...patch.split(' '), JSON.stringify({ data })]);
    await pods.until('those that were replaced are gone', (all) => all.length === APPS * REPLICAS);
    const names = pods.all.map(({ metadata }) => metadata.name).toSorted();
    const stale = await drift('-n', NAMESPACE, '-o', 'name');
    expect(stale.code).toBe(1);
    expect(stale.lines.map((line) => line.replace('pod/', '')).toSorted()).toEqual(names);
    // Of the others nothing is to be learned that these do not tell.
    await run(`delete deployment ${Array.from({ length: APPS - 2 }, (_, n) => `app-${n + 2}`).join(' ')}`);
    for (const name of ['app-0', 'app-1']) {
      const { lines } = await drift('-n', NAMESPACE, '--restart', `deploy/${name}`);
      expect(lines).toEqual([`deployment.apps/${name} restarted`]);
    }
    for (const name of ['app-0', 'app-1']) await run(`rollout status deployment/${name} --timeout=120s`);
    await pods.until('the old ones are gone', (all) => all.length === 2 * REPLICAS);
    expect(await drift('-n', NAMESPACE, '-o', 'name')).toEqual({
      code: 0,
      lines: [],
      err: `no drift in ${2 * REPLICAS} pods\n`,
    });
  });
});
