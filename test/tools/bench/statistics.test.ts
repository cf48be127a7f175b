import { describe, expect, test } from '@jest/globals';
import { ratios, summarise } from '../../bench/statistics.ts';

describe('a summary', () => {
  test.each([
    { values: [3, 1, 2], summary: { median: 2, min: 1, max: 3 } },
    { values: [10, 1, 3, 2], summary: { median: 2.5, min: 1, max: 10 } },
    { values: [7], summary: { median: 7, min: 7, max: 7 } },
  ])('of $values has their median and their range', ({ values, summary }) => {
    expect(summarise(values)).toEqual(summary);
  });

  test('of nothing is refused', () => {
    expect(() => summarise([])).toThrow('at least one value');
  });
});

test('ratios are those of values of the same run', () => {
  expect(ratios([2, 9], [1, 3])).toEqual([2, 3]);
});
