import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { splitByShare } from '../../../../src/networks/nodes/reported-ranges.ts';
import { overlaps } from '../../../../src/networks/ranges/cidr.ts';
import { range } from '../ranges.ts';

const allowed = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].map(range);
/** Texts of ranges that are mostly wide. */
const wideRange = fc.oneof(
  fc
    .tuple(fc.constantFrom('10', '172', '192'), fc.nat(255), fc.nat(20))
    .map(([first, second, length]) => `${first}.${second}.0.0/${length}`),
  fc.tuple(fc.constantFrom('fc00::', 'fd00::', 'fd80::'), fc.nat(12)).map((parts) => parts.join('/')),
);

test.each<[string, readonly string[], readonly string[], readonly string[]]>([
  [
    'networks of a node',
    ['192.0.2.0/24', '10.8.0.0/24', '172.17.0.0/16'],
    ['10.8.0.0/24', '172.17.0.0/16', '192.0.2.0/24'],
    [],
  ],
  ['half of a range', ['10.0.0.0/9'], ['10.0.0.0/9'], []],
  ['both halves', ['10.0.0.0/9', '10.128.0.0/9'], ['10.0.0.0/9'], ['10.128.0.0/9']],
  ['a default route in parts', ['0.0.0.0/1', '128.0.0.0/1'], [], ['0.0.0.0/1', '128.0.0.0/1']],
  ['default routes', ['0.0.0.0/0', '::/0'], [], ['0.0.0.0/0', '::/0']],
  ['a range twice', ['10.0.0.0/10', '10.0.0.0/10', '10.64.0.0/10'], ['10.0.0.0/10', '10.64.0.0/10'], []],
  ['a range in two ways', ['10.0.0.0/8', '10.0.0.1/8', '10.64.0.0/8'], [], ['10.0.0.0/8']],
  ['what Networks may not have', ['8.0.0.0/7', '11.0.0.0/8'], ['11.0.0.0/8', '8.0.0.0/7'], []],
])('splitByShare takes %s', (_, texts, counted, wide) => {
  const split = splitByShare(texts, allowed);
  expect({ counted: split.counted.toSorted(), wide: split.wide }).toEqual({ counted, wide });
});

test('whatever one node reports, half of each allowed range is left, and no other range is lost', () => {
  fc.assert(
    fc.property(fc.array(wideRange, { maxLength: 40 }), (texts) => {
      const { counted, wide } = splitByShare(texts, allowed);
      for (const one of allowed) {
        const within = counted.map(range).filter((each) => overlaps(one, each));
        const taken = within.reduce((sum, each) => sum + 2 ** (one.prefixLength - each.prefixLength), 0);
        expect(taken).toBeLessThanOrEqual(1 / 2);
      }
      for (const text of wide) expect(allowed.some((one) => overlaps(one, range(text)))).toBe(true);
    }),
  );
});
