import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { Network } from '../../../../src/networks/api/types.ts';
import { FIRST_VNI, VNI_COUNT } from '../../../../src/networks/multus/cni-config.ts';
import { VNI_INDEXERS, Vnis } from '../../../../src/networks/multus/multus.ts';
import { newNetwork } from '../networks.ts';

const subnet = { cidr: '10.0.0.0/16', gateway: '10.0.0.1' };
/** A Network with its VNI in the status. */
const recorded = (name: string, vni: number) => newNetwork({ name, status: { cidr: subnet.cidr, vni } });
const asked = (name: string) => newNetwork({ name });
function cacheOf(networks: Iterable<Network>): Store<Network> {
  const store = new Store<Network>(VNI_INDEXERS);
  for (const one of networks) store.set(one);
  return store;
}

const vnisOf = (networks: readonly Network[]) => new Vnis(cacheOf(networks));

test('no two Networks end with the same VNI, with any leader and any delay of its cache', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const step = fc.record({
    name: fc.constantFrom(...names),
    leader: fc.nat(1),
    does: fc.constantFrom('ensure', 'remove', 'sync'),
  });
  const first = fc.dictionary(fc.constantFrom(...names), fc.integer({ min: FIRST_VNI, max: FIRST_VNI + 2 }));
  fc.assert(
    fc.property(first, fc.array(step, { maxLength: 30 }), (before, steps) => {
      const live = new Map(Object.entries(before).map(([name, vni]) => [name, recorded(name, vni)]));
      const caches = [0, 1].map(() => ({ seen: cacheOf(live.values()) }));
      const leaders = caches.map(
        (cache) => new Vnis({ byIndex: (...asked) => cache.seen.byIndex(...asked) }),
      );
      const ensure = (name: string, leader: number) => {
        const found = live.get(name) ?? asked(name);
        const vni = leaders[leader]?.vniFor(found) ?? 0;
        expect(vni >= FIRST_VNI && vni < FIRST_VNI + VNI_COUNT).toBe(true);
        live.set(name, recorded(name, vni));
      };
      for (const { name, leader, does } of steps) {
        if (does === 'ensure') ensure(name, leader);
        if (does === 'sync') for (const cache of caches) cache.seen = cacheOf(live.values());
        if (does === 'remove') {
          live.delete(name);
          for (const each of leaders) each.release(`default/${name}`);
        }
      }
      const round = (leader: number) => {
        for (const name of live.keys()) ensure(name, leader);
        for (const cache of caches) cache.seen = cacheOf(live.values());
      };
      round(0);
      round(0);
      const vniOf = ({ status }: Network) => status?.vni;
      const vnis = Array.from(live.values(), vniOf);
      expect(new Set(vnis).size).toBe(live.size);
      round(1);
      expect(Array.from(live.values(), vniOf)).toEqual(vnis);
    }),
  );
});

test('a Network gets the VNI of its name, or the next one if another Network has it', () => {
  const wanted = vnisOf([]).vniFor(asked('a'));
  expect(vnisOf([]).vniFor(asked('a'))).toBe(wanted);
  expect(vnisOf([recorded('other', wanted)]).vniFor(asked('a'))).toBe(wanted + 1);
});

test('the first by name of two Networks with the same VNI keeps it', () => {
  const both = [recorded('a', FIRST_VNI), recorded('b', FIRST_VNI)];
  const vnis = vnisOf(both);
  expect(both.map((one) => vnis.vniFor(one))[0]).toBe(FIRST_VNI);
  expect(both.map((one) => vnis.vniFor(one))[1]).not.toBe(FIRST_VNI);
});
