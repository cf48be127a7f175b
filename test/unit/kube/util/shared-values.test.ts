import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SharedValues } from '../../../../src/kube/util/shared-values.ts';

const LABELS = { app: 'shop', tier: 'web' };

test('any JSON stays equal, and is not changed', () => {
  const shared = new SharedValues();
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      // JSON has no -0.
      expect(JSON.stringify(shared.within(value))).toBe(text);
      expect(JSON.stringify(value)).toBe(text);
    }),
  );
});

test('a value that stays in use is kept while others come and go; what nothing asks for is forgotten', () => {
  const shared = new SharedValues();
  const [used, unused] = [shared.of({ ...LABELS }), shared.of({ old: 'labels' })];
  for (let nth = 0; nth < 40; nth++) {
    shared.of({ nth, text: 'x'.repeat(100_000) });
    expect(shared.of({ ...LABELS })).toBe(used);
  }
  expect(shared.of({ old: 'labels' })).not.toBe(unused);
});

test('a huge value does not take the place of others, and is not kept', () => {
  const shared = new SharedValues();
  const first = shared.of({ ...LABELS });
  const huge = () => ({ text: 'x'.repeat(1_000_000) });
  const kept = [huge(), huge(), huge()].map((value) => shared.of(value));
  expect(new Set(kept).size).toBe(3);
  expect(shared.of({ ...LABELS })).toBe(first);
});
