import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { overlaps, type Range } from '../../../../src/networks/ipam/cidr.ts';
import { RangeTree } from '../../../../src/networks/ipam/range-tree.ts';
import { anyRange, range } from '../ranges.ts';

test('RangeTree finds wider and narrower ranges, wider ones first', () => {
  const tree = new RangeTree<string>();
  for (const cidr of ['10.0.0.0/24', '10.0.0.0/16', '10.1.0.0/16', '10.0.0.64/26', 'fd00::/8']) {
    tree.add(range(cidr), cidr);
  }
  expect([...tree.overlapping(range('10.0.0.0/24'))]).toEqual(['10.0.0.0/16', '10.0.0.0/24', '10.0.0.64/26']);
  expect([...tree.overlapping(range('10.2.0.0/16'))]).toEqual([]);
});

test('RangeTree finds the same as a search of all ranges, after any additions and deletions', () => {
  interface Entry {
    readonly range: Range;
  }
  const steps = fc.array(fc.record({ range: anyRange, isDeletion: fc.boolean(), pick: fc.nat() }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(steps, anyRange, (changes, wanted) => {
      const tree = new RangeTree<Entry>();
      const entries: Entry[] = [];
      for (const { range: added, isDeletion, pick } of changes) {
        const gone = isDeletion ? entries.splice(pick % (entries.length || 1), 1)[0] : undefined;
        if (gone) tree.delete(gone.range, gone);
        if (isDeletion) continue;
        const entry = { range: added };
        entries.push(entry);
        tree.add(entry.range, entry);
      }
      const found = new Set(tree.overlapping(wanted));
      expect(found).toEqual(new Set(entries.filter((entry) => overlaps(entry.range, wanted))));
    }),
  );
});

test('RangeTree ignores the deletion of an absent value', () => {
  const tree = new RangeTree<string>();
  tree.add(range('10.0.0.0/16'), 'a');
  tree.delete(range('10.0.0.0/24'), 'a');
  tree.delete(range('10.0.0.0/16'), 'b');
  expect([...tree.overlapping(range('10.0.0.0/8'))]).toEqual(['a']);
});
