import { describe, expect, test } from '@jest/globals';
import { Store } from '../../../../src/kube/cache/store.ts';
import { NetworkUsers } from '../../../../src/networks/attach/network-users.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';

const GATE = 'samplecrd.k8s.io/network';

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
        other: 'x',
        ...(asks !== undefined && { 'samplecrd.k8s.io/network': asks }),
        ...(status !== undefined && { 'k8s.v1.cni.cncf.io/network-status': text }),
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

describe('a pod uses a Network', () => {
  test.each<[string, PodOptions, number]>([
    ['that it names', { asks: 'blue' }, 0],
    ['that it names with its namespace', { asks: 'red/blue' }, 0],
    ['that it names in JSON', { asks: '[{"name":"blue"}]' }, 0],
    ['to which Multus attached it', { status: [eth0, blue] }, 1],
    ['that it names and is attached to', { asks: 'blue', status: [eth0, blue] }, 1],
    ['with two interfaces', { status: [eth0, blue, { ...blue, interface: 'net2' }] }, 2],
    ['also after a change of its annotation', { asks: 'green', status: [eth0, blue] }, 1],
    ['also with an invalid annotation', { asks: ',', status: [eth0, blue] }, 1],
    ['also when another gate holds it', { asks: 'blue', gates: ['example.org/theirs'] }, 0],
  ])('%s', (_, options, allocated) => {
    expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: ['red/p'], allocated });
  });

  test.each<[string, PodOptions]>([
    ['it is gated', { asks: 'blue', gates: ['example.org/theirs', GATE] }],
    ['it names another', { asks: 'green' }],
    ['only the cluster’s own network has that name', { status: [{ ...eth0, name: 'red/blue' }] }],
    ['its network status is invalid', { status: '[{' }],
  ])('but not if %s', (_, options) => {
    expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: [], allocated: 0 });
  });
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

test('the nodes of its pods are named once, and only of pods that are bound', () => {
  const store = new Store<NetworkPod>(POD_INDEXERS);
  for (const [name, nodeName] of Object.entries({ a: 'n2', b: 'n1', c: 'n2', d: undefined })) {
    store.set({ ...pod(name, { asks: 'blue' }), ...(nodeName && { nodeName }) });
  }
  expect(new NetworkUsers(store).usageOf('red/blue').nodeNames).toEqual(['n2', 'n1']);
});

describe('a pod that names a Network of another namespace', () => {
  const theirs = { ...blue, name: 'green/blue' };
  const forged = {
    metadata: {
      ...{ name: 'p', namespace: 'red' },
      annotations: {
        'samplecrd.k8s.io/network': 'green/blue,blue',
        'k8s.v1.cni.cncf.io/networks': 'green/blue',
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([eth0, theirs, blue]),
      },
    },
  };
  const usersOfBoth = (shared: readonly string[]) => {
    const one = networkPods(new NetworkAccess(shared)).decode(forged);
    return ['green/blue', 'red/blue'].map((key) => usersOf(key, one));
  };

  test('is not a user of it, but of the Networks of its namespace', () => {
    expect(usersOfBoth([])).toEqual([
      { pods: [], allocated: 0 },
      { pods: ['red/p'], allocated: 1 },
    ]);
  });

  test.each(['green', '*'])('is a user of shared Networks: %s', (shared) => {
    expect(usersOfBoth([shared])[0]).toEqual({ pods: ['red/p'], allocated: 1 });
  });
});

test("a pod with overwritten annotations uses the Networks of Multus' annotation", () => {
  const metadata = {
    name: 'p',
    namespace: 'red',
    annotations: { 'k8s.v1.cni.cncf.io/networks': 'blue@net1' },
  };
  expect(usersOf('red/blue', networkPods(new NetworkAccess([])).decode({ metadata })).pods).toEqual([
    'red/p',
  ]);
});
