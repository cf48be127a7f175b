import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_TEMPLATE_YAML } from '../../src/injection/webhook/default-template.ts';
import { PODS } from '../../src/kube/api/core-resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { NODE_NAME, PORTS } from '../env/cluster/addresses.ts';
import { eventually } from '../env/eventually.ts';
import { FOR_THE_WEBHOOK, hasSidecar, IDLE_SPEC, OPTED_IN } from '../support/cluster/admission-load.ts';
import { ageCertificate } from '../support/cluster/age-certificate.ts';
import { apply } from '../support/cluster/cluster-kubectl.ts';
import { OPERATOR } from '../support/cluster/operator-in-cluster.ts';
import { deployment } from '../support/cluster/traffic-workloads.ts';
import { setClock } from '../support/time/faked-clock.ts';
import { ASKED, PATIENTLY, SECOND, STATE, type World } from './world.ts';

const CROWD = 2_000;
const OUTAGE_MS = 15_000;
/** The same Envoy under two names. */
export const IMAGES = [
  'envoyproxy/envoy:v1.40.0',
  'lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1',
] as const;
export const IDLE = {
  terminationGracePeriodSeconds: 1,
  containers: [{ name: 'app', image: 'busybox', command: ['sleep', '36000'] }],
};

/** New pods get the template, and a rollout brings it to running ones. */
export async function template(world: World, image: string): Promise<void> {
  const config = DEFAULT_TEMPLATE_YAML.replace(IMAGES[0], image).replace('cpu: 100m', 'cpu: 10m');
  const rollout = 'mode: in-place\nmaxUnavailable: 50%\nperMinute: 1000\n';
  const patch = JSON.stringify({ data: { config, rollout } });
  await world.run(['patch', `configmap/${OPERATOR}`, `-n=${OPERATOR}`, '-p', patch]);
  const areNew = async () =>
    (await world.pods('default', 'app=both')).every(
      ({ spec, metadata }) =>
        spec.containers.some((each) => each.name === 'envoy' && each.image === image) &&
        !('initializer.kubernetes.io/drain' in (metadata.annotations ?? {})),
    );
  await eventually(`sidecars are ${image}`, areNew, PATIENTLY);
}

async function drain(world: World, node: string): Promise<void> {
  await world.run(`drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=240s`);
  await world.operator.rolledOut();
  await world.run(`uncordon ${node}`);
}

/** A namespace of many pods, half of them on a Network, comes and goes. */
async function crowd(world: World, client: KubeClient): Promise<void> {
  await world.run('create namespace crowd');
  await world.network('crowd', '10.202', 'crowd');
  let next = 0;
  const worker = async () => {
    for (let number = next++; number < CROWD; number = next++) {
      const annotations = { ...FOR_THE_WEBHOOK, ...(number % 2 && { [ASKED]: 'crowd' }) };
      const metadata = { name: `pod-${number}`, namespace: 'crowd', labels: OPTED_IN, annotations };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: IDLE_SPEC };
      if (!hasSidecar(await client.create(PODS, pod))) throw new Error(`pod-${number} has no sidecar`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  const gates = '-o=jsonpath={range .items[*]}{.spec.schedulingGates[*].name}{"\\n"}{end}';
  const areServed = async () =>
    !(await world.run(['get', 'pods', '-n=crowd', gates])).includes('samplecrd.k8s.io');
  await eventually('no pod waits for its Network', areServed, PATIENTLY);
  await world.run('delete namespace crowd --timeout=600s');
}

async function clock(world: World, offset: string): Promise<void> {
  for (const { name } of await world.operator.pods())
    await world.run(['exec', name, `--namespace=${OPERATOR}`, '--', ...setClock(offset)]);
  await delay(OUTAGE_MS);
}

/** A call of etcd's own API; resolves with the header of its answer. */
async function etcd(world: World, path: string, body: object) {
  const script = `fetch("http://127.0.0.1:${PORTS.etcd}/v3/${path}", {method: "POST", body: process.argv[1]})`;
  const call = `${process.execPath} -e '${script}.then(a => a.text()).then(console.log)' '${JSON.stringify(body)}'`;
  return JSON.parse(await world.on(world.cluster.machine, call)).header;
}

async function compaction(world: World, signal: NodeJS.Signals): Promise<void> {
  const { revision } = await etcd(world, 'kv/range', { key: 'AA==' });
  await etcd(world, 'kv/compaction', { revision, physical: true });
  await world.cluster.controlPlane.stopApiServer(signal);
  await delay(OUTAGE_MS);
  await world.cluster.controlPlane.startApiServer();
}

/** What etcd does by itself where its quota is used up. */
async function fullEtcd(world: World): Promise<void> {
  const alarm = { memberID: (await etcd(world, 'maintenance/status', {})).member_id, alarm: 'NOSPACE' };
  await etcd(world, 'maintenance/alarm', { action: 'ACTIVATE', ...alarm });
  await delay(OUTAGE_MS);
  await etcd(world, 'maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
}

/** A Deployment and its Network come and go; at first, a node has no room for what its agent writes. */
async function deploys(world: World): Promise<void> {
  const [, second] = world.machines;
  await world.on(second, `dd if=/dev/zero of=${STATE}/fill bs=4k`);
  await world.network('passing', '10.201');
  await apply(world.cluster, deployment('passing', { [ASKED]: 'passing' }, IDLE, 4));
  await delay(OUTAGE_MS);
  await world.on(second, `rm ${STATE}/fill`);
  await world.complete(9);
  await world.run('rollout restart deployment passing both');
  for (const name of ['passing', 'both']) await world.run(`rollout status deployment/${name} --timeout=240s`);
  await world.complete(9);
  await world.run('delete network/passing --wait=false');
  await world.run('delete deployment/passing');
  await world.run('wait network/passing --for=delete --timeout=120s');
}

type Happening = readonly [string, (world: World, client: KubeClient) => Promise<unknown>];
const CROWDED: Happening = [`${CROWD} pods`, crowd];

/** Those that replace the operator's pods, or fill heaps for the first time. */
export const FIRST: readonly Happening[] = [
  ['a new template', (world) => template(world, IMAGES[1])],
  ['the template of before', (world) => template(world, IMAGES[0])],
  ...[SECOND, NODE_NAME].map((node): Happening => [`a drain of ${node}`, (world) => drain(world, node)]),
  CROWDED,
];

export const THEN: readonly Happening[] = [
  ...[1, 2, 3].map((n): Happening => [`certificate ${n} is due`, (_, client) => ageCertificate(client)]),
  ['a clock an hour ahead', (world) => clock(world, '+1h')],
  ['the right clock', (world) => clock(world, '+0')],
  ['an outage after a compaction', (world) => compaction(world, 'SIGTERM')],
  ['an outage by SIGKILL after a compaction', (world) => compaction(world, 'SIGKILL')],
  ['an outage by a full etcd', fullEtcd],
  ['deploys, at first with a full disk', deploys],
  CROWDED,
];
