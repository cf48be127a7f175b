import { expect, test } from '@jest/globals';
import { changed } from '../../bench/history.ts';
import { isMet, type Measurement } from '../../bench/measurement.ts';
import { summarise } from '../../bench/statistics.ts';

const rate: Measurement = {
  name: 'injections',
  unit: 'req/s',
  ours: summarise([9000, 7000, 8000]),
  floor: summarise([10_000]),
  ratio: summarise([0.7, 0.8, 0.9, 0.8]),
  bound: { least: 0.6 },
};
const memory: Measurement = { name: 'memory', unit: 'MB', ours: summarise([300]), bound: { most: 256 } };
const start: Measurement = { name: 'start', unit: 's', ours: summarise([0.5]) };

test.each([
  { of: { ...rate, bound: { least: 0.8 } }, met: true },
  { of: { ...rate, bound: { least: 0.81 } }, met: false },
  { of: { ...memory, bound: { most: 300 } }, met: true },
  { of: { ...memory, bound: { most: 299 } }, met: false },
  { of: start, met: undefined },
])('a bound of $of.name ($of.bound) is met: $met', ({ of, met }) => {
  expect(isMet(of)).toBe(met);
});

test.each([
  { change: undefined, says: '' },
  { change: { was: 0.8, is: 0.75 }, says: '0.8' },
  { change: { was: 0.8, is: 0.4 }, says: '0.8 (−50 %)' },
  { change: { was: 0, is: 3 }, says: '0 (new)' },
])('of $change is said "$says"', ({ change, says }) => {
  expect(changed(change)).toBe(says);
});
