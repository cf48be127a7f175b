import { expect, test } from '@jest/globals';
import { digestIn, rulesOf } from '../../../../src/networks/agent/nftables.ts';
import { range } from '../ranges.ts';

const facts = {
  bridges: [
    { name: 'nw-bbbbbbbbbbbb', ranges: [range('10.21.0.0/24')] },
    {
      name: 'nw-aaaaaaaaaaaa',
      ranges: [range('10.20.0.0/24'), range('fd00:20::/64')],
    },
  ],
  vnis: [8388609, 8388608],
  peers: ['192.0.2.3', '192.0.2.2', '192.0.2.3'],
  port: 4789,
};

test('the digest depends on the facts and not on their order', () => {
  const { text, digest } = rulesOf(facts);
  expect(digestIn(text)).toBe(digest);
  const turned = { ...facts, bridges: facts.bridges.toReversed(), peers: facts.peers.toReversed() };
  expect(rulesOf(turned)).toEqual({ text, digest });
  for (const other of [
    { port: 8472 },
    { peers: [] },
    { vnis: [8388609] },
    { bridges: facts.bridges.slice(1) },
  ]) {
    expect(rulesOf({ ...facts, ...other }).digest).not.toBe(digest);
  }
  expect(digestIn('table inet envoy-initializer {\n\tchain forward {\n\t}\n}\n')).toBeUndefined();
});

test('without bridges there is no table', () => {
  expect(rulesOf({ ...facts, bridges: [] })).toEqual({
    text: 'table inet envoy-initializer\ndelete table inet envoy-initializer\n',
    digest: undefined,
  });
});
