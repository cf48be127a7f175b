import { describe, expect, test } from '@jest/globals';
import { Store } from '../../../src/kube/store.ts';
import { matters, NETWORK_PODS, type NetworkPod, POD_INDEXERS } from '../../../src/network/network-pods.ts';
import { NetworkUsers } from '../../../src/network/network-users.ts';

const GATE = 'samplecrd.k8s.io/network';

interface PodOptions {
  readonly asks?: string;
  readonly status?: readonly object[] | string;
  readonly gates?: readonly string[];
  readonly uid?: string;
}

function pod(name: string, { asks, status, gates = [], uid = name }: PodOptions): NetworkPod {
  const text = typeof status === 'string' ? status : JSON.stringify(status);
  return NETWORK_PODS.narrow({
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
  return new NetworkUsers(store).usageOf(network);
}

describe('a pod uses a Network', () => {
  test.each<[string, PodOptions, number]>([
    ['that it names', { asks: 'blue' }, 0],
    ['that it names with its namespace', { asks: 'red/blue' }, 0],
    ['that it names in JSON', { asks: '[{"name":"blue"}]' }, 0],
    ['that Multus has attached it to', { status: [eth0, blue] }, 1],
    ['that it names and is attached to', { asks: 'blue', status: [eth0, blue] }, 1],
    ['by two interfaces', { status: [eth0, blue, { ...blue, interface: 'net2' }] }, 2],
    ['also when its annotation was changed since', { asks: 'green', status: [eth0, blue] }, 1],
    ['also when its annotation is of no use any more', { asks: ',', status: [eth0, blue] }, 1],
    ['also when another gate holds it', { asks: 'blue', gates: ['example.org/theirs'] }, 0],
  ])('%s', (_, options, allocated) => {
    expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: ['red/p'], allocated });
  });

  test.each<[string, PodOptions]>([
    ['it is gated', { asks: 'blue', gates: ['example.org/theirs', GATE] }],
    ['it names another', { asks: 'green' }],
    ['only the cluster’s own network has that name', { status: [{ ...eth0, name: 'red/blue' }] }],
    ['its network status is rubbish', { status: '[{' }],
  ])('but not where %s', (_, options) => {
    expect(usersOf('red/blue', pod('p', options))).toEqual({ pods: [], allocated: 0 });
  });
});

test('a pod counts from the moment on in which its gate is about to be lifted, and only while it is there', () => {
  const store = new Store<NetworkPod>(POD_INDEXERS);
  const users = new NetworkUsers(store);
  const gated = pod('p', { asks: 'blue', gates: [GATE] });
  store.set(gated);
  users.letIn(gated);
  expect(users.usageOf('red/blue').pods).toEqual(['red/p']);
  store.set(pod('p', { asks: 'blue' }));
  expect(users.usageOf('red/blue').pods).toEqual(['red/p']);
  store.set(pod('p', { asks: 'blue', gates: [GATE], uid: 'another' }));
  expect(users.usageOf('red/blue').pods).toEqual([]);
  store.set(gated);
  users.settle(gated);
  expect(users.usageOf('red/blue').pods).toEqual([]);
});

test('of a pod little is kept, and nothing of one that has to do with no Network', () => {
  expect(matters(pod('p', {}))).toBe(false);
  expect(matters(pod('p', { status: [eth0] }))).toBe(false);
  const kept = pod('p', { asks: 'blue', status: [eth0, blue] });
  expect(matters(kept)).toBe(true);
  expect(JSON.stringify(kept)).not.toMatch(/other|containers|ips/);
});
