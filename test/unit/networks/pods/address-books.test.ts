import { describe, expect, test } from '@jest/globals';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { NetworkSpec } from '../../../../src/networks/api/types.ts';
import { AddressBooks } from '../../../../src/networks/pods/address-books.ts';
import { CLAIM_INDEXERS, IPAM_CLAIMS, type IpamClaim } from '../../../../src/networks/pods/ipam-claims.ts';
import { OPEN_ACCESS } from '../../../../src/networks/pods/network-access.ts';
import { type NetworkPod, networkPods, POD_INDEXERS } from '../../../../src/networks/pods/network-pods.ts';
import { newNetwork } from '../networks.ts';

const GATE = 'samplecrd.k8s.io/network';
const MULTUS = 'k8s.v1.cni.cncf.io/networks';
const BLUE = 'default/blue';
const ANY = [{ index: 0, network: BLUE, ips: [] }];

function pod(
  name: string,
  { ips = [] as readonly string[], isGated = false, nodeName = 'n1' } = {},
): NetworkPod {
  const text = JSON.stringify([{ name: 'blue', ips }]);
  return networkPods(OPEN_ACCESS).decode({
    metadata: { name, namespace: 'default', uid: name, annotations: { [GATE]: text, [MULTUS]: text } },
    spec: isGated ? { schedulingGates: [{ name: GATE }] } : { nodeName },
  });
}

/** Books of the Network `default/blue` with the addresses .2 to .6. */
function stage() {
  const pods = new Store<NetworkPod>(POD_INDEXERS);
  const claims = new Store<IpamClaim>(CLAIM_INDEXERS);
  const world = { spec: { cidr: '10.0.0.0/29', gateway: '10.0.0.1' } as NetworkSpec, gives: true };
  const away = new Set<string>();
  const freed: string[] = [];
  const books = new AddressBooks({
    pods,
    claims,
    networks: { get: () => newNetwork({ name: 'blue', ...world.spec, status: world.spec }) },
    gives: () => world.gives,
    isAway: (node) => away.has(node),
    onFreed: (network) => freed.push(network),
  });
  return {
    ...{ books, claims, world, away, freed },
    add(...added: readonly NetworkPod[]) {
      for (const each of added) {
        const before = pods.set(each);
        books.changed(each, before);
      }
    },
    remove(removed: NetworkPod) {
      pods.delete(`default/${removed.metadata.name}`);
      books.deleted(removed);
    },
    holders: (ip: string) =>
      books
        .of(BLUE)
        ?.holdersOf(ip)
        .map(({ name }) => name),
    next: (name: string) => {
      const taken = books.take(pod(name, { isGated: true }), ANY);
      return 'why' in taken ? taken.reason : taken.get(0);
    },
  };
}

describe('a pod that is deleted', () => {
  const gone = pod('gone', { ips: ['10.0.0.2/29'] });

  test('gives back its address, and others are told', () => {
    const { add, remove, holders, freed } = stage();
    add(gone);
    expect(holders('10.0.0.2')).toEqual(['pod default/gone']);
    remove(gone);
    expect(holders('10.0.0.2')).toEqual([]);
    expect(freed).toEqual([BLUE]);
  });

  test.each(['before', 'after'])(
    'while its node does not respond keeps it until the node does (book made %s)',
    (when) => {
      const { books, add, remove, holders, away } = stage();
      if (when === 'before') books.of(BLUE);
      add(gone);
      away.add('n1');
      remove(gone);
      const name = 'pod default/gone, deleted while its node n1 does not respond';
      expect(holders('10.0.0.2')).toEqual([name]);
      books.nodeChanged('n1');
      books.nodeChanged('n2');
      expect(holders('10.0.0.2')).toEqual([name]);
      away.delete('n1');
      books.nodeChanged('n1');
      expect(holders('10.0.0.2')).toEqual([]);
    },
  );
});

describe('an address that was given', () => {
  test('is the same when the pod is tried again, and of no other pod', () => {
    const { add, next } = stage();
    add(pod('a', { isGated: true }), pod('b', { isGated: true }));
    expect([next('a'), next('b'), next('a')]).toEqual([['10.0.0.2/29'], ['10.0.0.3/29'], ['10.0.0.2/29']]);
  });

  test('is another one when the range of the Network has changed', () => {
    const { add, next, world } = stage();
    add(pod('a', { isGated: true }));
    next('a');
    world.spec = { cidr: '10.1.0.0/29', gateway: '10.1.0.1' };
    expect(next('a')).toEqual(['10.1.0.2/29']);
  });

  test('is another one when the pod has come to ask for that', () => {
    const { books, next } = stage();
    expect(next('a')).toEqual(['10.0.0.2/29']);
    const asks = [{ index: 0, network: BLUE, ips: ['10.0.0.5'] }];
    const taken = books.take(pod('a', { isGated: true }), asks);
    expect('why' in taken ? taken : taken.get(0)).toEqual(['10.0.0.5/29']);
  });

  test('is free when two sweeps have not found the pod, and not after one', () => {
    const { books, next, holders } = stage();
    next('a');
    books.sweep();
    expect(holders('10.0.0.2')).toEqual(['pod default/a']);
    books.sweep();
    expect(holders('10.0.0.2')).toEqual([]);
  });

  test('is free when the cache shows that the pod has another one', () => {
    const { add, next, holders } = stage();
    add(pod('a', { isGated: true }));
    next('a');
    add(pod('a', { ips: ['10.0.0.6/29'] }));
    expect([holders('10.0.0.2'), holders('10.0.0.6')]).toEqual([[], ['pod default/a']]);
  });
});

test('a pod that cannot have all it wants gets nothing', () => {
  const { books, add, holders } = stage();
  add(pod('owner', { ips: ['10.0.0.6/29'] }), pod('a', { isGated: true }));
  const wishes = [...ANY, { index: 1, network: BLUE, ips: ['10.0.0.6'] }];
  const why = '10.0.0.6 of Network default/blue is of pod default/owner';
  expect(books.take(pod('a', { isGated: true }), wishes)).toEqual({ reason: 'WaitsForNetwork', why });
  expect(['10.0.0.2', '10.0.0.6'].map(holders)).toEqual([[], ['pod default/owner']]);
});

test('a waiting pod that asks for an address does not have it, but nobody gets it by chance', () => {
  const { add, next, holders } = stage();
  add(pod('asks', { ips: ['10.0.0.2/29'], isGated: true }), pod('a', { isGated: true }));
  expect([holders('10.0.0.2'), next('a')]).toEqual([[], ['10.0.0.3/29']]);
});

test('an excluded address is not given, as soon as the Network says so', () => {
  const { add, next, world } = stage();
  add(pod('a', { isGated: true }), pod('b', { isGated: true }));
  next('a');
  world.spec = { ...world.spec, exclude: ['10.0.0.0/30'] };
  expect(next('b')).toEqual(['10.0.0.4/29']);
});

test('without the say of the operator there is no book', () => {
  const { books, world } = stage();
  world.gives = false;
  expect(books.of(BLUE)).toBeUndefined();
});

describe('a claim', () => {
  const claim = (ips: readonly string[] = []) =>
    IPAM_CLAIMS.decode({
      metadata: { name: 'c', namespace: 'default', uid: 'c', resourceVersion: '1' },
      spec: { network: 'blue' },
      status: { ips },
    });

  test('holds its addresses as long as it lives', () => {
    const { books, claims, holders } = stage();
    books.of(BLUE);
    claims.set(claim(['10.0.0.2/29']));
    books.claimChanged(claim());
    expect(holders('10.0.0.2')).toEqual(['IPAMClaim default/c']);
    claims.delete('default/c');
    books.claimChanged(claim());
    expect(holders('10.0.0.2')).toEqual([]);
  });

  test('frees the addresses of a Network that it no longer names', () => {
    const { books, claims, holders } = stage();
    claims.set(claim(['10.0.0.2/29']));
    expect(holders('10.0.0.2')).toEqual(['IPAMClaim default/c']);
    const moved = { ...claim(['10.0.0.2/29']), network: 'default/other' };
    claims.set(moved);
    books.claimChanged(moved, claim());
    expect(holders('10.0.0.2')).toEqual([]);
  });

  test('holds its addresses in a book that is made later', () => {
    const { claims, holders } = stage();
    claims.set(claim(['10.0.0.2/29']));
    expect(holders('10.0.0.2')).toEqual(['IPAMClaim default/c']);
  });

  test('is not offered what was offered to an earlier one of its name', () => {
    const { books, claims, add } = stage();
    claims.set(claim());
    expect(books.takeFor(claim())).toEqual(['10.0.0.2/29']);
    claims.delete('default/c');
    books.claimChanged(claim());
    add(pod('a', { ips: ['10.0.0.2'] }));
    expect(books.takeFor(claim())).toEqual(['10.0.0.3/29']);
  });

  test('is offered the same addresses until it has them', () => {
    const { books, claims, add, next } = stage();
    claims.set(claim());
    add(pod('a', { isGated: true }));
    expect([books.takeFor(claim()), books.takeFor(claim()), next('a')]).toEqual([
      ['10.0.0.2/29'],
      ['10.0.0.2/29'],
      ['10.0.0.3/29'],
    ]);
  });
});
