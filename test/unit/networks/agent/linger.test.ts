import { expect, test } from '@jest/globals';
import { Linger } from '../../../../src/networks/agent/linger.ts';

const due = (linger: Linger, bridges: readonly string[], nowMs: number) => [
  ...linger.due(new Set(bridges), nowMs),
];

test('a bridge is due in a later round, after the time, and if nobody needed it in between', () => {
  const linger = new Linger(100);
  expect(due(linger, ['a'], 0)).toEqual([]);
  expect(due(linger, ['a', 'b'], 99)).toEqual([]);
  expect(due(linger, ['a', 'b'], 100)).toEqual(['a']);
  expect(due(linger, ['b'], 150)).toEqual([]);
  expect(due(linger, ['a', 'b'], 199)).toEqual(['b']);
  expect(due(linger, ['a'], 249)).toEqual([]);
});

test('no bridge is due in its first round, even without a time', () => {
  const linger = new Linger(0);
  expect(due(linger, ['a'], 0)).toEqual([]);
  expect(due(linger, ['a'], 0)).toEqual(['a']);
});
