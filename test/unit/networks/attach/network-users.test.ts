import { describe, expect, test } from '@jest/globals';
import { Store } from '../../../../src/kube/cache/store.ts';
import { NetworkUsers } from '../../../../src/networks/attach/network-users.ts';
import { NetworkAccess } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';

const GATE = 'samplecrd.k8s.io/network';
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

describe('a pod uses a Network', () => {
  test.each<[string, PodOptions, number]>([
    ['that it names', { asks: 'blue' }, 0],
    ['to which Multus attached it', { status: [eth0, blue] }, 1],
    ['with two interfaces', { status: [eth0, blue, { ...blue, interface: 'net2' }] }, 2],
    ['also with an invalid annotation', { asks: ',', status: [eth0, blue] }, 1],
    ['also when another gate holds it', { asks: 'blue', gates: ['example.org/theirs'] }, 0],
  ])('%s', (_, options, allocated) => {
    expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: ['red/p'], allocated });
  });

  test.each<[string, PodOptions]>([
    ['it is gated', { asks: 'blue', gates: ['example.org/theirs', GATE] }],
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

test.each(['green', '*'])(
  'a pod is a user of a Network of another namespace if it is shared: %s',
  (shared) => {
    const status = JSON.stringify([eth0, { ...blue, name: 'green/blue' }]);
    const annotations = { 'samplecrd.k8s.io/network': 'green/blue', [STATUS]: status };
    const metadata = { name: 'p', namespace: 'red', annotations };
    const one = networkPods(new NetworkAccess([shared])).decode({ metadata });
    expect(usersOf('green/blue', one)).toEqual({ pods: ['red/p'], allocated: 1 });
  },
);
