import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { changed, changesSince, readHistory, record } from '../../bench/history.ts';
import { isMet, type Measurement } from '../../bench/measurement.ts';
import { report } from '../../bench/report.ts';
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

test('the table has a line for each, with medians, ranges, and what was recorded last', () => {
  const lines = report([rate, memory, start], new Map([['memory', { was: 250, is: 300 }]])).split('\n');
  expect(lines.slice(2)).toEqual([
    '| injections | 8000 (7000–9000) req/s | 10000 req/s | 0.80 (0.70–0.90) | ≥ 0.6 | yes |  |',
    '| memory | 300 MB |  |  | ≤ 256 | **no** | 250 (+20 %) |',
    '| start | 0.50 s |  |  |  |  |  |',
    '',
  ]);
});

test('the history compares with what was recorded last, on the same machine', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bench-'));
  const file = join(directory, 'history.jsonl');
  const entry = { date: '2026-11-21', commit: 'c0ffee', machine: '2 × this', node: 'v26' };
  expect(await readHistory(file)).toEqual([]);
  await record(file, entry, [memory]);
  await record(file, entry, [rate, { ...memory, ours: summarise([200]) }]);
  await record(file, { ...entry, machine: '64 × another' }, [{ ...memory, ours: summarise([100]) }]);
  const changes = changesSince(await readHistory(file), entry.machine, [rate, memory, start]);
  expect(Object.fromEntries(changes)).toEqual({
    injections: { was: 0.8, is: 0.8 },
    memory: { was: 200, is: 300 },
  });
  await rm(directory, { recursive: true });
});

test.each([
  { change: undefined, says: '' },
  { change: { was: 0.8, is: 0.75 }, says: '0.8' },
  { change: { was: 0.8, is: 0.4 }, says: '0.8 (−50 %)' },
  { change: { was: 0, is: 3 }, says: '0 (new)' },
])('of $change is said "$says"', ({ change, says }) => {
  expect(changed(change)).toBe(says);
});
