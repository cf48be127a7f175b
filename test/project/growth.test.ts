import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/**
 * For linear work, the growth from 2n to 4n is twice the growth from n to 2n. For quadratic work it is four times as much.
 * Constant costs cancel out, and n log n stays below 2.3.
 */
const MOST = 2.5;
/** Code that V8 optimizes inlines functions, and loses their counts. */
const UNOPTIMIZED = ['--no-opt', '--no-maglev'];
/** Steps that are noise: a list that exceeds the limit of a search without an index. */
const NOISE = 500;

test('the work of each function grows in proportion to the input', async () => {
  const script = fileURLToPath(import.meta.resolve('../support/growth/measure.js'));
  const { stdout } = await promisify(execFile)(process.execPath, [...UNOPTIMIZED, script], {
    maxBuffer: 1e8,
  });
  const measured = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly name: string; readonly steps: [number, number, number] })
    .map(({ name, steps }) => ({
      name,
      steps,
      growth: (steps[2] - steps[1]) / Math.max(steps[1] - steps[0], NOISE),
    }));
  expect(measured.length).toBeGreaterThan(200);
  expect(measured.filter(({ growth }) => growth > MOST)).toEqual([]);
});
