import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { MutationCache } from '../../../src/kube/cache/mutation-cache.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { NETWORKS } from '../../../src/networks/api/resources.ts';
import type { Network } from '../../../src/networks/api/types.ts';
import { NetworkWriter, StaleCopyError } from '../../../src/networks/controller/network-writer.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { NetworkWorld, networkOf } from '../../support/network/network-world.ts';
import { connect } from '../../support/operator/api-access.ts';
import { operatorCalls } from '../../support/operator/rights.ts';

jest.setTimeout(90_000);

const example = join(projectDirectory(), 'deploy/examples/example-network.yaml');
let world: NetworkWorld;
const run: NetworkWorld['run'] = (...args) => world.run(...args);

beforeAll(async () => {
  world = await NetworkWorld.start({ args: ['--resync=1s'] });
}, 600_000);

afterAll(() => world?.stop());

/** `VERB RESOURCE` of the operator's writes in a namespace, in order of the alphabet. */
async function writes(namespace: string): Promise<readonly string[]> {
  const calls = await operatorCalls(world.fixture.controlPlane.auditLogPath);
  const own = calls.filter((call) => call.namespace === namespace && call.resource.includes('network'));
  return own
    .filter(({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb))
    .map(({ verb, resource }) => `${verb} ${resource.split('.')[0]}`)
    .sort();
}

const shown = async (line: string) => (await run(line)).replaceAll(/ +/g, ' ').trim();

/** Also in the operator's log. */
async function untilTold(reason: string, note: string): Promise<void> {
  await world.untilEvent('network/example-network', reason, note);
  await eventually('it is in the log', async () => {
    const log = (await readFile(world.fixture.logFile, 'utf8')).split('\n');
    return log.some((line) => line.includes(`"reason":"${reason}"`) && line.includes(note));
  });
}

test('a Network is created, and kubectl get shows it', async () => {
  await run(`apply -f ${example}`);
  await run('wait network/example-network --for=condition=Ready --timeout=20s');
  expect(await shown('get network')).toMatch(
    /^NAME CIDR GATEWAY READY PODS AGE\nexample-network 192\.168\.0\.0\/16 192\.168\.0\.1 True 0 \d+s$/,
  );
  expect(await shown('get net -o wide')).toContain('192.168.0.1 True 0 Ready ');
  await untilTold('Created', 'pods can attach to 192.168.0.0/16, gateway 192.168.0.1');
});

test('a Network is described, with all that is known of it', async () => {
  const described = await shown('describe network example-network');
  for (const line of ['Reason: NoPods', 'Total: 65533', 'Provider: multus', 'Normal Created'])
    expect(described).toContain(line);
  expect(await shown('explain network.spec')).toContain('-required-');
  expect(await shown('explain network.status.attachedPods')).toContain('The number of attached pods');
});

test('a Network is updated, and its real network with it', async () => {
  await world.merge('network example-network', { spec: { gateway: '192.168.0.254' } });
  await run('wait network/example-network --for=jsonpath={.status.gateway}=192.168.0.254 --timeout=20s');
  await untilTold('Updated', 'gateway 192.168.0.1 to 192.168.0.254');
});

test('a Network is deleted, and its real network with it', async () => {
  await run('delete network example-network --timeout=20s');
  expect(await run('get network,net-attach-def -o name')).toBe('');
  await untilTold('Deleted', 'deleted the network itself (192.168.0.0/16, provider multus)');
});

test('Networks take three writes each to be Ready, and two for a change, resyncs or not', async () => {
  await run('create namespace counted');
  const names = Array.from({ length: 10 }, (_, i) => `net-${i}`);
  const inCounted = { namespace: 'counted' };
  await world.apply(...names.map((name, i) => networkOf(name, `172.16.${i}.0/24`, {}, inCounted)));
  await run('wait network --all -n counted --for=condition=Ready --timeout=30s');
  const created = ['create network-attachment-definitions', 'patch networks', 'patch networks/status'];
  expect(await writes('counted')).toEqual(created.flatMap((write) => names.map(() => write)));
  const spec = { cidr: '172.17.0.0/24', gateway: '172.17.0.1', mtu: 1400 };
  await world.merge('network net-0 -n counted', { spec });
  await run('wait network/net-0 -n counted --for=jsonpath={.status.cidr}=172.17.0.0/24 --timeout=20s');
  const changed = ['patch network-attachment-definitions', 'patch networks/status'];
  // One that comes later has seen some resyncs.
  await world.ready('later');
  expect(await writes('counted')).toEqual(
    [...created.flatMap((write) => names.map(() => write)), ...changed].sort(),
  );
});

test('a Network ends as it was last asked for, however quickly it is edited', async () => {
  const n = world.nextRange();
  await world.apply(networkOf('quick', `10.${n}.0.0/16`));
  const edits = Array.from({ length: 8 }, (_, i) =>
    world.merge('network quick', { spec: { gateway: `10.${n}.0.${i + 2}`, mtu: 1300 + i } }),
  );
  const labels = Array.from({ length: 8 }, (_, i) => run(`label network quick l${i}=x`));
  await Promise.all([...edits, ...labels]);
  await world.merge('network quick', { spec: { gateway: `10.${n}.0.99`, mtu: 1400 } });
  await run(`wait network/quick --for=jsonpath={.status.gateway}=10.${n}.0.99 --timeout=20s`);
  expect(await run('get net-attach-def quick -o jsonpath={.spec.config}')).toContain('"mtu":1400');
});

test.each<[string, string, object, string]>([
  ['the finalizer of a Network', 'network', { metadata: { finalizers: null } }, '{.metadata.finalizers}'],
  [
    'the finalizer of its definition',
    'net-attach-def',
    { metadata: { finalizers: null } },
    '{.metadata.finalizers}',
  ],
  ['its configuration', 'net-attach-def', { spec: { config: '{"type":"macvlan"}' } }, '{.spec}'],
])('%s comes back after somebody takes it away', async (what, kind, patch, path) => {
  const name = what.replaceAll(' ', '-').toLowerCase();
  await world.ready(name);
  const now = () => run(`get ${kind} ${name} -o jsonpath=${path}`);
  const before = await now();
  expect(before).not.toBe('');
  await run(`label ${kind} ${name} team=net`);
  await world.merge(`${kind} ${name}`, patch);
  await eventually('it is as before', async () => (await now()) === before);
  expect(await run(`get ${kind} ${name} -o jsonpath={.metadata.labels.team}`)).toBe('net');
});

test('a definition comes back with its owner after somebody takes it away', async () => {
  await world.ready('restored');
  const now = () => run('get net-attach-def restored -o jsonpath={.spec}{.metadata.ownerReferences}');
  const before = await now();
  await run('delete net-attach-def restored --timeout=20s');
  await eventually('it is back', async () => (await now()) === before);
  await world.untilEvent('network/restored', 'Restored', '');
});

test('a status of a Network comes back after somebody takes it away, though no event asks for it', async () => {
  const n = await world.ready('resynced');
  await world.merge('network resynced', { status: { cidr: '1.2.3.0/24' } }, '--subresource=status');
  await run(`wait network/resynced --for=jsonpath={.status.cidr}=10.${n}.0.0/24 --timeout=20s`);
});

test('a write of a Network that was decided on an older copy is refused', async () => {
  const { client, close } = connect(world.fixture.controlPlane.kubeconfigPath);
  const copies = new MutationCache<Network>({ get: () => undefined });
  const events = { event: () => undefined };
  const writer = new NetworkWriter({ client, copies, events, clock: systemClock, now: () => new Date() });
  const { signal } = new AbortController();
  await world.ready('stale');
  const old: Network = await client.get(NETWORKS, { namespace: 'default', name: 'stale' });
  await run('label network stale changed=yes');
  await expect(writer.report(old, { cidr: '1.2.3.0/24' }, [], signal)).rejects.toThrow(StaleCopyError);
  await expect(writer.addFinalizer(old, signal)).rejects.toThrow(StaleCopyError);
  await run('delete network stale --timeout=20s');
  await world.ready('stale');
  await expect(writer.removeFinalizer(old, signal)).rejects.toThrow(StaleCopyError);
  await run('delete network stale --timeout=20s');
  await expect(writer.report(old, { cidr: '1.2.3.0/24' }, [], signal)).rejects.toThrow(StaleCopyError);
  await close();
});

test('a namespace that is deleted goes with its Networks, also with those that are being made', async () => {
  await run('create namespace midway');
  const inMidway = { namespace: 'midway' };
  const names = Array.from({ length: 20 }, (_, i) => `net-${i}`);
  await world.apply(...names.map((name, i) => networkOf(name, `172.18.${i}.0/24`, {}, inMidway)));
  await world.apply(networkOf('loser', '172.18.0.0/24', {}, inMidway));
  await run('delete namespace midway --timeout=60s');
  expect(await run('get networks,net-attach-def -n midway -o name')).toBe('');
});

test.each([
  ['with deletionPolicy Retain', 'retained', { deletionPolicy: 'Retain' }, 'background'],
  ['by --cascade=orphan', 'orphaned', {}, 'orphan'],
])(
  'a deletion of a Network %s leaves the real network behind, as nobody’s',
  async (_, name, spec, cascade) => {
    const n = await world.ready(name, 24, spec);
    const get = (path: string) => run(`get net-attach-def ${name} -o jsonpath=${path}`);
    const [uid, config] = [await get('{.metadata.uid}'), await get('{.spec.config}')];
    await run(`delete network ${name} --cascade=${cascade} --timeout=20s`);
    await eventually(
      'it is nobody’s',
      async () => (await get('{.metadata.ownerReferences}{.metadata.finalizers}')) === '',
    );
    expect([await get('{.metadata.uid}'), await get('{.metadata.deletionTimestamp}')]).toEqual([uid, '']);
    // As a PersistentVolume that was retained, it serves the next of that name only if a user says so.
    await world.apply(networkOf(name, `10.${n}.0.0/24`, { mtu: 1400 }));
    await world.untilReason(name, 'Ready', 'NameConflict');
    expect(await world.condition(name, 'Ready', 'message')).toMatch(/remains from a deleted Network/);
    expect(await get('{.spec.config}')).toBe(config);
    await run(`annotate net-attach-def ${name} samplecrd.k8s.io/network-uid-`);
    await run(`wait network/${name} --for=condition=Ready --timeout=20s`);
    expect(await get('{.metadata.uid}')).toBe(uid);
    expect(await get('{.metadata.ownerReferences[0].uid}')).toBe(
      await run(`get network ${name} -o jsonpath={.metadata.uid}`),
    );
    expect(await get('{.spec.config}')).toContain('"mtu":1400');
  },
);

/** What the operator has asked and written, but for its lease and its watches. */
async function others(): Promise<readonly string[]> {
  const calls = await operatorCalls(world.fixture.controlPlane.auditLogPath);
  return calls
    .filter(({ verb, resource }) => verb !== 'watch' && resource !== '' && !resource.startsWith('leases'))
    .map(({ verb, uri }) => `${verb} ${uri}`);
}

/** Waits until every Network was looked at so many times more. */
async function resyncs(times: number): Promise<void> {
  const networks = (await run('get networks -A -o name')).trim().split('\n').length;
  const reconciled = async () =>
    Number(
      /^controller_runtime_reconcile_total\{controller="network",result="success"\} (\d+)$/m.exec(
        await world.metrics(),
      )?.[1],
    );
  const enough = (await reconciled()) + times * networks;
  await eventually(`${times} resyncs`, async () => (await reconciled()) >= enough);
}

test('an operator that has nothing to do renews its lease, and asks and writes nothing else', async () => {
  // Events, certificates and whatever else follows a start come to rest.
  await eventually('a resync without a request', async () => {
    const before = await others();
    await resyncs(1);
    return (await others()).length === before.length;
  });
  const before = await others();
  await resyncs(5);
  expect((await others()).slice(before.length)).toEqual([]);
  await world.ready('alive');
  const lines = (await readFile(world.fixture.logFile, 'utf8')).trim().split('\n');
  expect(lines.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level))).toEqual([]);
});
