import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_TEMPLATE_YAML } from '../../src/injection/webhook/default-template.ts';
import { PODS } from '../../src/kube/api/core-resources.ts';
import { NODE_NAME, PORTS } from '../env/cluster/addresses.ts';
import type { Cluster } from '../env/cluster/cluster.ts';
import type { Machine } from '../env/cluster/machine.ts';
import { searchPath } from '../env/cluster/search-path.ts';
import { startCluster } from '../env/cluster/start-cluster.ts';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';
import { eventually } from '../env/eventually.ts';
import {
  AdmissionLoad,
  FOR_THE_WEBHOOK,
  hasSidecar,
  IDLE_SPEC,
  OPTED_IN,
} from '../support/cluster/admission-load.ts';
import { ageCertificate } from '../support/cluster/age-certificate.ts';
import { apply, kubectl, podOf } from '../support/cluster/cluster-kubectl.ts';
import { stopCluster } from '../support/cluster/e2e-cluster.ts';
import { AGENT, OPERATOR, OperatorInCluster } from '../support/cluster/operator-in-cluster.ts';
import { connect } from '../support/operator/api-access.ts';
import { objectNames } from '../support/operator/object-names.ts';
import { operatorCalls } from '../support/operator/rights.ts';
import { fakedClockConfigMap, fakedClockPatch, setClock } from '../support/time/faked-clock.ts';

// What a week brings to a cluster of two nodes with both features on, in minutes; WEEK_ROUNDS times. At its end every pod must
// have what it asked for, nobody writes, memory is where it was, and nothing is left over.

const ROUNDS = Number(process.env.WEEK_ROUNDS || 1);
const CROWD = 2_000;
const OUTAGE_MS = 15_000;
const QUIET_MS = 60_000;
/** What a heap may have grown by that is collected late. */
const GROWTH_MIB = 32;
const SECOND = 'second';
const STATE = '/run/envoy-initializer';
const WORKLOADS = 'app in (both,plain,passing)';
const USERS = [OPERATOR, AGENT].map((name) => `system:serviceaccount:${name}:${name}`);
/** The same Envoy under two names. */
const IMAGES = ['envoyproxy/envoy:v1.40.0', 'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1'];

interface PodJson {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Record<string, string>;
  };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID: string; readonly restartCount: number }[];
  };
}

const faults: string[] = [];
const say = (text: string) => void process.stderr.write(`${text}\n`);
const fault = (text: string) => say(`FAULT: ${faults[faults.push(text) - 1]}`);

const cluster: Cluster = await startCluster({
  images: ['busybox', 'envoy', 'envoy-initializer'],
  multus: true,
  auditLog: 'Metadata',
  log: say,
});
const api = connect(cluster.kubeconfigPath);
const run = (args: string | readonly string[], input?: string) => kubectl(cluster, args, input);
const operator = new OperatorInCluster({ own: cluster, kubectl: (...call) => cluster.kubectl(...call) });
const patient = { boundMs: 240_000, everyMs: 1_000 };

async function on(machine: Machine, line: string): Promise<string> {
  const { command, args } = machine.inside({ command: 'sh', args: ['-c', line] });
  return (await runCommand(command, args, { PATH: searchPath() }, '')).stdout;
}

/** etcd's own API, of which the API server uses a part. */
const etcd = (path: string, body: object) =>
  on(
    cluster.machine,
    `${process.execPath} -e 'fetch("http://127.0.0.1:${PORTS.etcd}/v3/${path}", {method: "POST", body: process.argv[1]})` +
      `.then(a => a.text()).then(console.log)' '${JSON.stringify(body)}'`,
  );

async function pods(namespace: string, selector: string): Promise<readonly PodJson[]> {
  return JSON.parse(await run(['get', 'pods', `-n=${namespace}`, `-l=${selector}`, '-o=json'])).items;
}

const network = (name: string, range: string) => ({
  apiVersion: 'samplecrd.k8s.io/v1',
  kind: 'Network',
  metadata: { name },
  spec: { cidr: `${range}.0.0/16`, gateway: `${range}.0.1` },
});

function deployment(name: string, replicas: number, on?: string): object {
  const annotations = on === undefined ? {} : { 'samplecrd.k8s.io/network': on };
  const labels = { app: name, ...(on !== undefined && OPTED_IN) };
  const { spec } = podOf('', {}, { terminationGracePeriodSeconds: 1 }) as { readonly spec: object };
  const template = { metadata: { labels, annotations }, spec };
  const metadata = { name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas, selector: { matchLabels: { app: name } }, template },
  };
}

/** Each of so many pods runs with what it asked for, and no other. */
async function complete(expected: number): Promise<void> {
  await eventually(
    `${expected} pods run with what they asked for`,
    async () => {
      const all = await pods('default', WORKLOADS);
      const isReady = ({ status }: PodJson) =>
        status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
      if (all.length !== expected || !all.every(isReady)) return false;
      for (const pod of all) {
        const asked = 'samplecrd.k8s.io/network' in (pod.metadata.annotations ?? {});
        const links = await run(['exec', pod.metadata.name, '-c=main', '--', 'ls', '/sys/class/net']);
        if (links.includes('net1') !== asked || hasSidecar(pod) !== asked) return false;
      }
      return true;
    },
    patient,
  );
}

async function withTemplate(image: string): Promise<void> {
  const config = DEFAULT_TEMPLATE_YAML.replace(IMAGES[0] ?? '', image).replace('cpu: 100m', 'cpu: 10m');
  const rollout = 'mode: in-place\nmaxUnavailable: 50%\nperMinute: 1000\n';
  await run([
    'patch',
    `configmap/${OPERATOR}`,
    `-n=${OPERATOR}`,
    '-p',
    JSON.stringify({ data: { config, rollout } }),
  ]);
  await eventually(
    `sidecars have ${image}`,
    async () =>
      (await pods('default', 'app=both')).every(({ spec, metadata }) => {
        const sidecar = spec.containers.find(({ name }) => name === 'envoy');
        return (
          sidecar?.image === image && !('initializer.kubernetes.io/drain' in (metadata.annotations ?? {}))
        );
      }),
    patient,
  );
}

/** A namespace of many pods, half of them on a Network, comes and goes. */
async function crowd(): Promise<void> {
  await run('create namespace crowd');
  let next = 0;
  const bare: string[] = [];
  const worker = async () => {
    for (let number = next++; number < CROWD; number = next++) {
      const annotations = { ...FOR_THE_WEBHOOK, ...(number % 2 && { 'samplecrd.k8s.io/network': 'crowd' }) };
      const metadata = { name: `pod-${number}`, namespace: 'crowd', labels: OPTED_IN, annotations };
      const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec: IDLE_SPEC };
      const pod = await api.client.create(PODS, body);
      if (!hasSidecar(pod)) bare.push(metadata.name);
    }
  };
  await run(['apply', '-n=crowd', '-f', '-'], JSON.stringify(network('crowd', '10.202')));
  await Promise.all(Array.from({ length: 16 }, worker));
  if (bare.length > 0) fault(`${bare.length} of ${CROWD} pods were left without a sidecar, as ${bare[0]}`);
  await eventually(
    'no pod waits for its Network',
    async () => {
      const gates = await run(
        'get pods -n crowd -o jsonpath={range.items[*]}{.spec.schedulingGates[*].name}{"\\n"}{end}',
      );
      return gates
        .trim()
        .split('\n')
        .every((line) => line === 'example.com/never');
    },
    patient,
  );
  await run('delete namespace crowd --timeout=240s');
}

async function drain(node: string): Promise<void> {
  await run(`drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=240s`);
  await operator.rolledOut();
  await run(`uncordon ${node}`);
}

async function clock(offset: string): Promise<void> {
  for (const { name } of await operator.pods())
    await run(['exec', name, `--namespace=${OPERATOR}`, '--', ...setClock(offset)]);
  await delay(OUTAGE_MS);
}

/** What each container of ours holds without files, in MiB, by its id. */
async function memory(): Promise<ReadonlyMap<string, number>> {
  const held = new Map<string, number>();
  for (const namespace of [OPERATOR, AGENT]) {
    for (const { metadata, status } of await pods(namespace, `app in (${OPERATOR},${AGENT})`)) {
      const code = 'console.log(/RssAnon:\\s+(\\d+)/.exec(fs.readFileSync("/proc/1/status"))[1])';
      const kibibytes = await run(['exec', metadata.name, `-n=${namespace}`, '--', 'node', '-e', code]);
      const [{ containerID = '', restartCount = 0 } = {}] = status.containerStatuses ?? [];
      if (restartCount > 0) fault(`${metadata.name} has been restarted ${restartCount} times`);
      held.set(`${metadata.name} ${containerID.slice(-8)}`, Math.round(Number(kibibytes) / 1024));
    }
  }
  return held;
}

/** What nodes have of Networks. */
async function traces(machines: readonly Machine[]): Promise<readonly string[]> {
  const of = `ip -oneline link; nft list ruleset; find ${STATE} /var/lib/cni`;
  const all = await Promise.all(machines.map((machine) => on(machine, of)));
  return all.flatMap((text) => text.split('\n').filter((line) => /\bnw-[0-9a-f]{12}/.test(line)));
}

async function writes(): Promise<readonly string[]> {
  const calls = await Promise.all(
    USERS.map((user) => operatorCalls(cluster.controlPlane.auditLogPath, user)),
  );
  return calls
    .flat()
    .filter(
      ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && !resource.startsWith('leases'),
    )
    .map(({ verb, uri }) => `${verb} ${uri}`);
}

async function deploys(): Promise<void> {
  await apply(cluster, network('passing', '10.201'), deployment('passing', 4, 'passing'));
  await complete(9);
  await run('rollout restart deployment/passing deployment/both');
  for (const name of ['passing', 'both']) await run(`rollout status deployment/${name} --timeout=240s`);
  await complete(9);
  await run('delete network/passing --wait=false');
  await run('delete deployment/passing');
  await run('wait network/passing --for=delete --timeout=120s');
}

interface Happening {
  readonly what: string;
  readonly act: (second: Machine) => Promise<unknown>;
  /** Nobody can create a pod meanwhile. */
  readonly cuts?: true;
}

/** Those that replace the operator's pods. */
const FIRST: readonly Happening[] = [
  { what: 'a new template', act: () => withTemplate(IMAGES[1] ?? '') },
  { what: 'the template of before', act: () => withTemplate(IMAGES[0] ?? '') },
  ...[SECOND, NODE_NAME].map((node) => ({ what: `a drain of ${node}`, act: () => drain(node) })),
  { what: `${CROWD} pods that come and go`, act: crowd },
];
const THEN: readonly Happening[] = [
  ...Array.from({ length: 3 }, () => ({
    what: 'a certificate that is due',
    act: () => ageCertificate(api.client),
  })),
  { what: 'a clock an hour ahead', act: () => clock('+1h') },
  { what: 'the right clock', act: () => clock('+0') },
  ...(['SIGTERM', 'SIGKILL'] as const).map((signal) => ({
    what: `etcd compacted, the API server ended by ${signal}`,
    cuts: true as const,
    act: async () => {
      const { revision } = JSON.parse(await etcd('kv/range', { key: 'AA==' })).header;
      await etcd('kv/compaction', { revision, physical: true });
      await cluster.controlPlane.stopApiServer(signal);
      await delay(OUTAGE_MS);
      await cluster.controlPlane.startApiServer();
    },
  })),
  {
    what: 'etcd on a full disk',
    cuts: true,
    act: async () => {
      const { header } = JSON.parse(await etcd('maintenance/status', {}));
      const alarm = { memberID: header.member_id, alarm: 'NOSPACE' };
      await etcd('maintenance/alarm', { action: 'ACTIVATE', ...alarm });
      await delay(OUTAGE_MS);
      await etcd('maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
    },
  },
  {
    what: 'a full disk of a node',
    act: async (second) => {
      await on(second, `dd if=/dev/zero of=${STATE}/fill bs=4k`);
      await apply(cluster, network('passing', '10.201'), deployment('passing', 4, 'passing'));
      await delay(OUTAGE_MS);
      await on(second, `rm ${STATE}/fill`);
      await complete(9);
    },
  },
  { what: 'deploys', act: deploys },
  { what: `${CROWD} pods that come and go`, act: crowd },
];

async function settled(): Promise<void> {
  await operator.rolledOut();
  await operator.agentsRolledOut();
  await complete(5);
}

async function happen(all: readonly Happening[], load: AdmissionLoad, second: Machine): Promise<void> {
  for (const { what, act, cuts } of all) {
    const began = performance.now();
    const before = load.refusals.length;
    await act(second);
    await settled();
    const refused = load.refusals.slice(before);
    say(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s, ${refused.length} pods refused`);
    if (refused.length > 0 && !cuts) fault(`${what}: a pod was refused: ${refused[0]?.message}`);
  }
}

async function week(): Promise<void> {
  const { machine: second } = await cluster.addNode(SECOND);
  const machines = [cluster.machine, second];
  for (const machine of machines)
    await on(machine, `mkdir -p ${STATE}; mount -t tmpfs -o size=1m tmpfs ${STATE}`);
  await run(`wait node/${SECOND} --for=create --for=condition=Ready --timeout=60s`);
  await operator.installNetworks();
  const rollout = join(projectDirectory(), 'deploy/components/rollout');
  await run(`apply -f ${rollout}/rbac.yaml`);
  const fence = 'validatingadmissionpolicy/envoy-initializer-fence';
  await run(`patch ${fence} --type=json --patch-file ${rollout}/fence.yaml`);
  await operator.kubectl('apply -f -', JSON.stringify(await fakedClockConfigMap('faketime')));
  const faked = JSON.stringify(fakedClockPatch('faketime', OPERATOR));
  await run(['patch', `deployment/${OPERATOR}`, `-n=${OPERATOR}`, '--patch', faked]);
  await operator.rolledOut();
  await run('create namespace e2e-load');
  const objects = await lasting();
  await apply(cluster, network('both', '10.200'), deployment('both', 4, 'both'), deployment('plain', 1));
  await withTemplate(IMAGES[0] ?? '');
  await settled();
  const load = new AdmissionLoad(api.client, 'e2e-load', 2);
  load.start();
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`round ${round} of ${ROUNDS}`);
    await happen(FIRST, load, second);
    const before = await memory();
    await happen(THEN, load, second);
    for (const [container, now] of await memory()) {
      const then = before.get(container);
      say(`${container}: ${then} MiB, then ${now} MiB`);
      if (then === undefined) fault(`${container} is new`);
      else if (now > then + GROWTH_MIB) fault(`${container} has grown from ${then} to ${now} MiB`);
    }
  }
  await load.stop();
  say(load.summary());
  if (load.bare.length > 0) fault(`pods were left without a sidecar: ${load.bare.length}`);
  const written = (await writes()).length;
  await delay(QUIET_MS);
  const since = (await writes()).slice(written);
  if (since.length > 0) fault(`writes go on: ${[...new Set(since)].join(', ')}`);

  await run('delete network/both --wait=false');
  await run('delete deployment both plain');
  await run('delete pods --all -n e2e-load --timeout=240s');
  await run('wait network/both --for=delete --timeout=120s');
  await eventually(
    'nodes have nothing left of Networks',
    async () => (await traces(machines)).length === 0,
  ).catch(async () => fault(`left on nodes: ${(await traces(machines)).join('; ')}`));
  const left = (await lasting()).filter((name) => !objects.includes(name));
  if (left.length > 0) fault(`left in the cluster: ${left.join(', ')}`);
}

/** Without those that are new with each pod. */
async function lasting(): Promise<readonly string[]> {
  return (await objectNames(cluster)).filter((name) => !/^(Pod|ReplicaSet|EndpointSlice) /.test(name));
}

try {
  await week();
} catch (err) {
  fault(err instanceof Error ? `${err.message}${err.cause ? `: ${err.cause}` : ''}` : String(err));
} finally {
  await api.close();
  await stopCluster(cluster);
}
say(faults.length === 0 ? 'the week left no trace' : `${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
