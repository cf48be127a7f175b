import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { FaultLab } from '../../support/faults/fault-lab.ts';
import { FaultRun } from '../../support/faults/fault-run.ts';
import { scenario } from '../../support/faults/fault-scenario.ts';

const SEEDS = Number(process.env.FAULT_SEEDS ?? 200);
jest.setTimeout(600_000 + SEEDS * 1_000);

const AT_ONCE = 8;
/** `FAULT_SEED=123` replays the one seed that failed. */
const only = process.env.FAULT_SEED;
const seeds = only === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(only)];

let controlPlane: ControlPlane;
let lab: FaultLab;
beforeAll(async () => {
  controlPlane = await startControlPlane();
  lab = await FaultLab.before(controlPlane);
});
afterAll(async () => {
  await lab?.close();
  await controlPlane?.stop();
});

/** Plays the scenario of one seed; when it fails, looks for a smaller one that fails too. */
async function play(seed: number, met: string[]): Promise<string | undefined> {
  const property = fc.asyncProperty(scenario, async (played) => {
    met.push(...(await FaultRun.of(played, lab)));
  });
  const result = await fc.check(property, { seed, numRuns: 1, interruptAfterTimeLimit: 120_000 });
  if (!result.failed) return undefined;
  const smallest = JSON.stringify(result.counterexample?.[0], undefined, 1);
  return `seed ${seed} (FAULT_SEED=${seed} replays it), after ${result.numShrinks} steps smaller:\n${smallest}\n${result.errorInstance}`;
}

test(`an informer ends with what the server has, whatever happens on the way (${seeds.length} seeds)`, async () => {
  const waiting = [...seeds];
  const failures: string[] = [];
  const met: string[] = [];
  const worker = async () => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      const failure = await play(seed, met);
      if (failure) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(failures.join('\n\n')).toBe('');
  const kinds = [
    'behind',
    'blackhole',
    'cut',
    'delay',
    'drip',
    'end',
    'half',
    'hang',
    'insert',
    'no-handshake',
    'none',
    'refuse',
    'reset',
    'stall',
    'status',
    'truncate',
  ];
  if (only === undefined) expect([...new Set(met)].sort()).toEqual(kinds);
});
