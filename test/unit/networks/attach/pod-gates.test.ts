import { expect, test } from '@jest/globals';
import type { Operation } from 'fast-json-patch';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { EventDetails } from '../../../../src/kube/events/events.ts';
import { type Conflict, IpamState } from '../../../../src/networks/addresses/ipam-state.ts';
import { NetworkUsers } from '../../../../src/networks/attach/network-users.ts';
import { PodAddresses } from '../../../../src/networks/attach/pod-addresses.ts';
import { PodGates } from '../../../../src/networks/attach/pod-gates.ts';
import type { NetworkState } from '../../../../src/networks/controller/provider-registry.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';
import type { Refusal } from '../../../../src/networks/providers.ts';
import { NetworkModel } from '../../../support/network/network-model.ts';

const access = new NetworkAccess([]);

const GATE = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const { signal } = new AbortController();

function gatedPod(
  gates: readonly string[] = ['example.org/theirs', GATE],
  annotations: Readonly<Record<string, string>> = { [GATE]: 'blue', [MULTUS]: 'blue' },
  more: object = {},
): NetworkPod {
  return networkPods(access).decode({
    metadata: { name: 'p', namespace: 'red', uid: 'u', annotations },
    spec: { schedulingGates: gates.map((name) => ({ name })), ...more },
  });
}

/** PodGates for one pod, which records its actions. */
function stage({
  pod = gatedPod() as NetworkPod | undefined,
  error = undefined as Error | undefined,
  filled = undefined as string | Refusal | undefined,
  live = gatedPod().metadata as KubeObject['metadata'],
} = {}) {
  const did: string[] = [];
  const patches: (readonly Operation[])[] = [];
  const notices: EventDetails[] = [];
  const world: { pod: NetworkPod | undefined; state: NetworkState; lost: string[] } = {
    ...{ pod, state: {}, lost: [] },
  };
  const conflicts: Conflict[] = [];
  const gates = new PodGates({
    ipam: { conflictsOf: () => conflicts },
    addresses: {
      serves: () => true,
      fill: async (_pod, text) => (typeof filled === 'object' ? filled : { text: filled ?? text }),
    },
    onConflict: () => did.push('count'),
    client: {
      get: async (resource) => resource.decode({ metadata: live }),
      jsonPatch: async (resource, _ref, operations) => {
        did.push('patch');
        patches.push(operations);
        if (error) throw error;
        return resource.decode({ metadata: { name: 'p' } });
      },
    },
    pods: { get: () => world.pod },
    users: { reserve: () => did.push('reserve'), settle: () => did.push('settle') },
    stateOf: () => world.state,
    nodes: {
      withoutMultus: (nodes) => (nodes?.join() === 'bare' ? 'Multus attaches no pods there' : undefined),
      lostBy: () => world.lost,
    },
    access,
    events: { event: (_, notice) => notices.push(notice) },
  });
  return { world, conflicts, did, patches, notices, reconcile: () => gates.reconcile('red/p', signal) };
}

const refusal = (status: number) =>
  new ApiError({ status, reason: '', message: 'no', retryAfterMs: undefined, causes: [] });

test('a pod whose Networks are Ready is not patched again while the cache has the version that was patched', async () => {
  const { world, did, reconcile } = stage();
  await reconcile();
  await reconcile();
  expect(did.filter((each) => each === 'patch')).toHaveLength(1);
  world.pod = { ...gatedPod(), metadata: { ...gatedPod().metadata, resourceVersion: 'newer' } };
  await reconcile();
  expect(did.filter((each) => each === 'patch')).toHaveLength(2);
});

test('a pod whose Networks are Ready loses the gate with the right name, and counts as a user before that', async () => {
  const { did, patches, notices, reconcile } = stage();
  await expect(reconcile()).resolves.toEqual({});
  expect(did).toEqual(['reserve', 'patch']);
  expect(patches[0]).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/metadata/annotations/samplecrd.k8s.io~1network', value: 'blue' },
    { op: 'test', path: '/spec/schedulingGates/1/name', value: GATE },
    { op: 'remove', path: '/spec/schedulingGates/1' },
  ]);
  expect(notices.map(({ reason }) => reason)).toEqual(['NetworkReady']);
});

test('a pod gets neither an address nor a port on a Network that its namespace may not use', async () => {
  const asked: string[] = [];
  const served = (network: string) => void asked.push(network);
  const options = {
    ...{ access, client: {} as never, ipam: { of: served } as never },
    ...{ networks: { get: served }, providers: { maker: () => undefined }, changing: new Set<string>() },
  };
  const text = '[{"name":"blue"},{"name":"blue","namespace":"green"}]';
  expect(await new PodAddresses(options).fill(gatedPod(), text, signal)).toEqual({ text });
  expect(asked).toEqual(['red/blue', 'red/blue']);
});

test('the pods are read once in a term, also if the read of the former term fails later', async () => {
  const lists: PromiseWithResolvers<object>[] = [];
  const list = () => {
    lists.push(Promise.withResolvers());
    return lists.at(-1)?.promise;
  };
  const addresses = new PodAddresses({
    ...{ access, client: { list } as never, networks: { get: () => undefined } },
    ipam: { of: () => ({}), listed: () => undefined, allocate: () => [] } as never,
    ...{ providers: { maker: () => undefined }, changing: new Set() },
  });
  const fill = () => addresses.fill(gatedPod(), '[{"name":"blue"}]', signal);
  const former = fill();
  addresses.forget();
  const first = fill();
  lists[0]?.reject(new Error('late'));
  await expect(former).rejects.toThrow('late');
  lists[1]?.resolve({ items: [] });
  await first;
  const second = fill();
  lists[2]?.resolve({ items: [] });
  await second;
  expect(lists).toHaveLength(2);
});

test.each([
  ['has changed since', 422, { requeueAfterMs: 0 }],
  ['is gone', 404, {}],
])(
  'a pod whose Networks are Ready and that %s does not count as a user any more',
  async (_, status, result) => {
    const { did, notices, reconcile } = stage({ error: refusal(status) });
    await expect(reconcile()).resolves.toEqual(result);
    expect(did).toEqual(['reserve', 'patch', 'settle']);
    expect(notices).toEqual([]);
  },
);

test('a waiting pod gets one Event for each reason', async () => {
  const { world, did, notices, reconcile } = stage();
  for (const why of ['Network red/blue does not exist', 'Network red/blue is not Ready yet']) {
    world.state = { reason: 'WaitsForNetwork', why };
    await reconcile();
    await reconcile();
  }
  expect(did).toEqual([]);
  expect(notices.map(({ note }) => note)).toEqual([
    'waiting for its Network: Network red/blue does not exist',
    'waiting for its Network: Network red/blue is not Ready yet',
  ]);
});

test('a pod that may run only on nodes without Multus waits', async () => {
  const on = (name: string) =>
    gatedPod([GATE], undefined, { nodeSelector: { 'kubernetes.io/hostname': name } });
  const { world, did, notices, reconcile } = stage({ pod: on('bare') });
  await reconcile();
  const note = 'waiting for its Network: Multus attaches no pods there';
  expect([did, notices.map((each) => each.note)]).toEqual([[], [note]]);
  world.pod = on('other');
  await reconcile();
  expect(did).toEqual(['reserve', 'patch']);
});

test('a pod that runs without its interface gets an Event once', async () => {
  const pod = { ...gatedPod([]), unattached: ['red/blue'] };
  const { world, did, notices, reconcile } = stage({ pod });
  await reconcile();
  await reconcile();
  const note = expect.stringMatching(
    /^runs without its interface on Network red\/blue, .* recreate the pod$/,
  );
  expect(notices).toEqual([{ type: 'Warning', reason: 'InterfaceMissing', action: 'Attach', note }]);
  world.pod = { ...pod, metadata: { ...pod.metadata, uid: 'another' } };
  await reconcile();
  expect([notices.length, did]).toEqual([2, []]);
});

test('a pod that loses its interface gets an Event once, and again when it loses it again', async () => {
  const { world, notices, reconcile } = stage({ pod: gatedPod([]) });
  for (const lost of [['red/blue'], ['red/blue'], [], ['red/blue']]) {
    world.lost = lost;
    await reconcile();
  }
  const note = expect.stringContaining('on Network red/blue, lost after the pod started');
  expect(notices).toEqual(
    Array(2).fill({ type: 'Warning', reason: 'InterfaceMissing', action: 'Attach', note }),
  );
});

const withIps = '[{"name":"blue","ips":["10.0.0.2/24"]}]';
const replaced = [
  { op: 'test', path: '/metadata/annotations/k8s.v1.cni.cncf.io~1networks', value: 'blue' },
  { op: 'replace', path: '/metadata/annotations/k8s.v1.cni.cncf.io~1networks', value: withIps },
];

test('the addresses of a pod come with the patch that removes the gate', async () => {
  const { patches, reconcile } = stage({ filled: withIps });
  await reconcile();
  expect(patches).toHaveLength(1);
  expect(patches[0]?.slice(-2)).toEqual(replaced);
});

test('the addresses of a pod are not of the range that its Network is leaving', async () => {
  const model = new NetworkModel();
  const pods = new Store<NetworkPod>(POD_INDEXERS);
  const networks = { get: () => model.network };
  const no = () => false;
  const addresses = new PodAddresses({
    client: { list: async () => ({ items: [] }) } as never,
    ipam: new IpamState({ pods, networks, gives: () => true, isAway: no, onFreed: no }),
    ...{ access, networks, providers: { maker: () => undefined }, changing: model.changing },
  });
  const fill = () =>
    addresses.fill({ ...gatedPod(), metadata: { name: 'p', namespace: 'default' } }, 'a', signal);
  model.create({ cidr: '10.0.0.0/16', gateway: '10.0.0.1' });
  for (let round = 0; round < 3; round++) await model.reconcile();
  model.edit({ cidr: '10.1.0.0/16', gateway: '10.1.0.1' });
  let during: unknown;
  model.meanwhile = async () => {
    during = await fill();
  };
  await model.reconcile();
  expect(during).toEqual(expect.objectContaining({ reason: 'WaitsForNetwork', retryAfterMs: 1_000 }));
  expect(await fill()).toEqual({ text: expect.stringContaining('10.1.0.2/16') });
  // Deleted before the change ended, with a pod that waits for it, and for which the deletion waits.
  model.changing.add(model.key);
  model.pods = ['default/p'];
  model.delete();
  await model.reconcile();
  expect([...model.changing]).toEqual([]);
});

test('the addresses of a pod come later for a pod without a gate, tied to its annotation', async () => {
  const pod = gatedPod([], { [MULTUS]: 'blue' });
  const live = { name: 'p', uid: 'u', annotations: { [MULTUS]: 'blue' } };
  const { patches, reconcile } = stage({ pod, live, filled: withIps });
  await reconcile();
  expect(patches).toEqual([[{ op: 'test', path: '/metadata/uid', value: 'u' }, ...replaced]]);
});

test.each([
  ['is replaced', { uid: 'other', annotations: { [MULTUS]: 'blue' } }],
  ['asks no more', { uid: 'u' }],
])('the addresses of a pod do not come for a pod that %s', async (_, live) => {
  const { did, reconcile } = stage({
    pod: gatedPod([], { [MULTUS]: 'blue' }),
    live: { name: 'p', ...live },
    filled: withIps,
  });
  await reconcile();
  expect(did).toEqual([]);
});

test('the addresses of a pod that many pods have, too, are an Event of each once, with the oldest', async () => {
  const aged = (name: string, day: number) => ({
    ...gatedPod([]),
    metadata: { ...gatedPod().metadata, name, uid: name, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
  });
  const pod = aged('p', 5);
  const { conflicts, did, notices, reconcile } = stage({ pod });
  const others = [aged('q', 3), aged('r', 2), aged('s', 6)];
  for (const ip of ['10.0.0.2/24', 'fd00::2/64']) conflicts.push({ network: 'red/blue', ip, others });
  await reconcile();
  await reconcile();
  expect(did).toEqual(['count', 'count']);
  expect(notices.map(({ note }) => note)).toEqual([
    '10.0.0.2/24 of Network red/blue is also the address of the older pod red/r: delete one of the pods',
    'fd00::2/64 of Network red/blue is also the address of the older pod red/r: delete one of the pods',
  ]);
});

test.each([
  ["the operator's", { [GATE]: 'blue,'.repeat(10_000), [MULTUS]: 'blue' }, GATE],
  ["Multus'", { [GATE]: 'blue', [MULTUS]: 'blue,'.repeat(10_000) }, MULTUS],
])('a pod keeps its gate while an annotation is too long: %s', async (_, annotations, key) => {
  const { did, notices, reconcile } = stage({ pod: gatedPod([GATE], annotations) });
  await reconcile();
  const note = `not attached yet: annotation ${key} has 50000 characters: use at most 32768`;
  expect([did, notices]).toEqual([
    [],
    [expect.objectContaining({ reason: 'InvalidNetworkAnnotation', note })],
  ]);
});

const STATUS = 'k8s.v1.cni.cncf.io/network-status';

interface PodOptions {
  readonly asks?: string;
  readonly status?: readonly object[] | string;
  readonly gates?: readonly string[];
  readonly uid?: string;
}

function pod(name: string, { asks, status, gates = [], uid = name }: PodOptions): NetworkPod {
  const text = typeof status === 'string' ? status : JSON.stringify(status);
  return networkPods(new NetworkAccess([])).decode({
    metadata: {
      name,
      namespace: 'red',
      uid,
      annotations: {
        ...(asks !== undefined && { 'samplecrd.k8s.io/network': asks }),
        ...(status !== undefined && { [STATUS]: text }),
      },
    },
    spec: { schedulingGates: gates.map((gate) => ({ name: gate })), containers: [{ name: 'app' }] },
  });
}

const eth0 = { name: 'cluster-default', interface: 'eth0', ips: ['10.244.0.2'], default: true };
const blue = { name: 'red/blue', interface: 'net1', ips: ['192.168.0.2'] };

function usersOf(network: string, ...pods: readonly NetworkPod[]) {
  const store = new Store<NetworkPod>(POD_INDEXERS);
  for (const one of pods) store.set(one);
  const { nodeNames: _, ...users } = new NetworkUsers(store).usageOf(network);
  return users;
}

test.each<[string, PodOptions, number]>([
  ['that it names', { asks: 'blue' }, 0],
  ['to which Multus attached it', { status: [eth0, blue] }, 1],
  ['with two interfaces', { status: [eth0, blue, { ...blue, interface: 'net2' }] }, 2],
  ['also with an invalid annotation', { asks: ',', status: [eth0, blue] }, 1],
  ['also when another gate holds it', { asks: 'blue', gates: ['example.org/theirs'] }, 0],
])('a pod uses a Network %s', (_, options, allocated) => {
  expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: ['red/p'], allocated });
});

test.each<[string, PodOptions]>([
  ['it is gated', { asks: 'blue', gates: ['example.org/theirs', GATE] }],
  ['only the cluster’s own network has that name', { status: [{ ...eth0, name: 'red/blue' }] }],
  ['its network status is invalid', { status: '[{' }],
])('a pod does not use a Network if %s', (_, options) => {
  expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: [], allocated: 0 });
});

test('a pod counts as soon as its gate is reserved for removal, and only while it exists', () => {
  const store = new Store<NetworkPod>(POD_INDEXERS);
  const users = new NetworkUsers(store);
  const gated = pod('p', { asks: 'blue', gates: [GATE] });
  store.set(gated);
  users.reserve(gated);
  expect(users.usageOf('red/blue').pods).toEqual(['red/p']);
  store.set(pod('p', { asks: 'blue' }));
  expect(users.usageOf('red/blue').pods).toEqual(['red/p']);
  store.set(pod('p', { asks: 'blue', gates: [GATE], uid: 'another' }));
  expect(users.usageOf('red/blue').pods).toEqual([]);
  store.set(gated);
  users.settle(gated);
  expect(users.usageOf('red/blue').pods).toEqual([]);
});

test.each(['green', '*'])(
  'a pod is a user of a Network in another namespace if it is shared: %s',
  (shared) => {
    const status = JSON.stringify([eth0, { ...blue, name: 'green/blue' }]);
    const annotations = { 'samplecrd.k8s.io/network': 'green/blue', [STATUS]: status };
    const metadata = { name: 'p', namespace: 'red', annotations };
    const one = networkPods(new NetworkAccess([shared])).decode({ metadata });
    expect(usersOf('green/blue', one)).toEqual({ pods: ['red/p'], allocated: 1 });
  },
);
