import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyOf } from '../../../src/kube/object.ts';
import { FIRST_VNI, VNI_COUNT } from '../../../src/network/cni-config.ts';
import { attachmentFor, vniIn } from '../../../src/network/providers/multus-attachment.ts';
import { Vnis } from '../../../src/network/providers/multus-vnis.ts';
import type { NetworkAttachmentDefinition } from '../../../src/network/resources.ts';
import { newNetwork } from './networks.ts';

const shape = { cidr: '10.0.0.0/16', gateway: '10.0.0.1' };
const attachment = (name: string, vni: number) =>
  attachmentFor(newNetwork({ name }), shape, { vni, mtu: 1450 });
const none = { list: () => [] };

test('whoever leads, and however late its cache is, in the end no two Networks have one VNI', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const step = fc.record({
    name: fc.constantFrom(...names),
    leader: fc.nat(1),
    does: fc.constantFrom('ensure', 'remove', 'sync'),
  });
  const first = fc.dictionary(fc.constantFrom(...names), fc.integer({ min: FIRST_VNI, max: FIRST_VNI + 2 }));
  fc.assert(
    fc.property(first, fc.array(step, { maxLength: 30 }), (before, steps) => {
      const live = new Map(Object.entries(before).map(([name, vni]) => [name, attachment(name, vni)]));
      const caches = [0, 1].map(() => ({ seen: [...live.values()] as NetworkAttachmentDefinition[] }));
      const leaders = caches.map((cache) => new Vnis({ list: () => cache.seen }));
      const ensure = (name: string, leader: number) => {
        const found = live.get(name);
        const vni = leaders[leader]?.vniFor(`default/${name}`, found && vniIn(found)) ?? 0;
        expect(vni >= FIRST_VNI && vni < FIRST_VNI + VNI_COUNT).toBe(true);
        live.set(name, attachment(name, vni));
      };
      for (const { name, leader, does } of steps) {
        if (does === 'ensure') ensure(name, leader);
        if (does === 'sync') for (const cache of caches) cache.seen = [...live.values()];
        if (does === 'remove') {
          live.delete(name);
          for (const each of leaders) each.release(`default/${name}`);
        }
      }
      const round = (leader: number) => {
        for (const name of live.keys()) ensure(name, leader);
        for (const cache of caches) cache.seen = [...live.values()];
      };
      round(0);
      round(0);
      const vnis = Array.from(live.values(), vniIn);
      expect(new Set(vnis).size).toBe(live.size);
      round(1);
      expect(Array.from(live.values(), vniIn)).toEqual(vnis);
    }),
  );
});

test('a Network has the VNI that its name decides, or the next where another has it', () => {
  const wanted = new Vnis(none).vniFor('default/a', undefined);
  expect(new Vnis(none).vniFor('default/a', undefined)).toBe(wanted);
  const taken = { list: () => [attachment('other', wanted)] };
  expect(new Vnis(taken).vniFor('default/a', undefined)).toBe(wanted + 1);
});

test('two that come at once have two, also before the cache shows either, and keep them', () => {
  const vnis = new Vnis(none);
  const first = vnis.vniFor('default/a', undefined);
  expect(vnis.vniFor('default/b', first)).toBe(first);
  expect(vnis.vniFor('default/c', undefined)).not.toBe(first);
  expect(vnis.vniFor('default/a', undefined)).not.toBe(first);
});

test('of two attachments with one VNI, as somebody may have written it, the first by name keeps it', () => {
  const both = [attachment('a', FIRST_VNI), attachment('b', FIRST_VNI)];
  const vnis = new Vnis({ list: () => both });
  expect(both.map((one) => vnis.vniFor(keyOf(one), FIRST_VNI))[0]).toBe(FIRST_VNI);
  expect(both.map((one) => vnis.vniFor(keyOf(one), FIRST_VNI))[1]).not.toBe(FIRST_VNI);
});
