import { StepCounter } from './step-counter.ts';

/**
 * Prints the steps of each input: `{"name": [n, 2n, 4n]}`. A process of its own, whose builtins count and whose functions
 * V8 counts: `node --no-opt --no-maglev measure.js [PART OF A NAME]`.
 */
const SIZE = 100;

const counter = new StepCounter();
await counter.start();
const { COUNTED } = await import('./worst-inputs.ts');
const { MANIFESTS } = await import('./manifest-inputs.ts');
const { RECONCILES } = await import('./reconcile-inputs.ts');
const only = process.argv[2] ?? '';
for (const { name, work, from = SIZE } of [...COUNTED, ...MANIFESTS, ...RECONCILES]) {
  if (!name.includes(only)) continue;
  // What runs only once, such as a cache that is filled.
  await work(10)();
  const steps: number[] = [];
  for (const size of [from, 2 * from, 4 * from]) steps.push(await counter.count(work(size)));
  process.stdout.write(`${JSON.stringify({ name, steps })}\n`);
}
