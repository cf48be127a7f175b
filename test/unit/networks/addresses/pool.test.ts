import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Pool, poolsOf } from '../../../../src/networks/addresses/pool.ts';
import { bitsOf, formatRange } from '../../../../src/networks/ranges/cidr.ts';
import { anyRange, firstHost } from '../ranges.ts';

function pool(cidr: string, gateway: string, exclude: readonly string[] = []): Pool {
  const [made] = poolsOf({ cidr, gateway }, exclude);
  if (!made) throw new Error(`expected a range, got ${cidr}`);
  return made;
}

/** All addresses of a pool, in the order in which it gives them. */
function all(from: Pool): readonly string[] {
  const taken = new Set<bigint>();
  const given: string[] = [];
  for (let last = 0n; ; ) {
    const next = from.next(last, (place) => taken.has(place));
    if (next === undefined) return given;
    taken.add(next);
    given.push(from.textOf(next));
    last = next;
  }
}

test('a pool of addresses gives all but the network, the broadcast and the gateway', () => {
  expect(all(pool('10.0.0.0/29', '10.0.0.2'))).toEqual([
    '10.0.0.1/29',
    '10.0.0.3/29',
    '10.0.0.4/29',
    '10.0.0.5/29',
    '10.0.0.6/29',
  ]);
  expect(all(pool('fd00::8/125', 'fd00::9'))).toHaveLength(6);
});

test('a pool of addresses gives no excluded one, also where excluded ranges overlap or lie outside', () => {
  const exclude = ['10.0.0.4/31', '10.0.0.4/30', '10.1.0.0/16', '10.0.0.1/32', 'fd00::/8', 'junk'];
  expect(all(pool('10.0.0.0/29', '10.0.0.2', exclude))).toEqual(['10.0.0.3/29']);
  expect(pool('10.0.0.0/29', '10.0.0.2', ['10.0.0.0/8']).total).toBe(0);
});

test('a pool of addresses gives the first 65,536 of a large IPv6 range', () => {
  const large = pool('fd00::/64', 'fd00::1');
  expect(large.total).toBe(65_534);
  const [last, beyond] = ['fd00::ffff', 'fd00::1:0'].map((text) => large.placeOf(text) ?? 0n);
  expect(large.textOf(large.next(last ?? 0n, () => false) ?? 0n)).toBe('fd00::2/64');
  expect([large.gives(last ?? 0n), large.gives(beyond ?? 0n)]).toEqual([true, false]);
  expect(large.plainOf(beyond ?? 0n)).toBe('fd00::1:0');
  expect(pool('fd00::/64', 'fd00::ffff:1').total).toBe(65_535);
});

test('a pool of addresses gives as many as it says, each once and inside of it', () => {
  fc.assert(
    fc.property(
      anyRange.filter(({ address, prefixLength }) => bitsOf(address) - prefixLength > 1),
      (range) => {
        const [cidr, gateway] = [formatRange(range), firstHost(range)];
        const made = pool(cidr, gateway);
        const isSmall = made.total < 1_000;
        const given = isSmall ? all(made) : [];
        expect(new Set(given).size).toBe(isSmall ? made.total : 0);
        expect(given.filter((text) => made.placeOf(text) === undefined)).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

test.each([
  ['10.0.0.1', 'is the gateway of'],
  ['10.0.0.0/29', 'is the network address of'],
  ['10.0.0.7', 'is the broadcast address of'],
  ['10.0.0.6', undefined],
])('%s is no address of a pod because it %s', (text, problem) => {
  const made = pool('10.0.0.0/29', '10.0.0.1');
  expect(made.problemOf(made.placeOf(text) ?? 0n)).toBe(problem);
});
