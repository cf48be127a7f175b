import { StepCounter } from './step-counter.ts';

/**
 * Prints the steps of each input of a part: `{"name": [n, 2n, 4n]}`. A process of its own, whose builtins count and whose
 * functions V8 counts: `node --no-opt --no-maglev measure.js PART`.
 */
const SIZE = 100;

const counter = new StepCounter();
await counter.start();
const { INPUTS } = await import('./all-inputs.ts');
const part = process.argv[2] ?? '';
const only = process.argv[3] ?? '';
const inputs = (INPUTS[part] ?? []).filter(({ name }) => name.includes(only));
if (inputs.length === 0) throw new Error(`expected one of ${Object.keys(INPUTS).join(', ')}, got ${part}`);
for (const { name, work, from = SIZE } of inputs) {
  // What runs only once, such as a cache that is filled.
  await work(10)();
  const steps: number[] = [];
  for (const size of [from, 2 * from, 4 * from]) steps.push(await counter.count(work(size)));
  process.stdout.write(`${JSON.stringify({ name, steps })}\n`);
}
