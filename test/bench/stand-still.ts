import { INPUTS } from '../support/growth/all-inputs.ts';
import type { GrowingInput } from '../support/growth/growing-input.ts';
import { WORST } from '../support/growth/worst-inputs.ts';

/**
 * Prints for how long each call of a webhook holds the event loop, the longest first, with bodies of as many bytes as
 * are given (3 MiB by default): `node test/bench/stand-still.ts [BYTES] [PART OF A NAME]`. On an idle machine, please.
 */
const BYTES = Number(process.argv[2] ?? 3 * 1024 * 1024);
const only = process.argv[3] ?? '';
const SHOWN = Number(process.env.SHOWN ?? 25);
/** Of a call that another process interrupted, the next ones say more. */
const RUNS = 3;
const SMALL = 1_000;

const known = [...(INPUTS.reviews ?? []), ...(INPUTS.templates ?? []), ...(INPUTS['fields of a pod'] ?? [])];
const figures: {
  readonly name: string;
  readonly milliseconds: number;
  readonly bytes: number;
  readonly answer: string;
}[] = [];
for (const input of [...WORST, ...known].filter(({ name }) => name.includes(only))) {
  const call = callOf(input);
  if (!call) continue;
  let [milliseconds, answer] = [Number.POSITIVE_INFINITY, ''];
  for (let run = 0; run < RUNS && (run === 0 || milliseconds > 20); run++) {
    const start = performance.now();
    answer = await call();
    milliseconds = Math.min(milliseconds, performance.now() - start);
  }
  figures.push({ name: input.name, milliseconds, bytes: call.bytes, answer: answer.slice(0, 100) });
}
const slowest = figures.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, SHOWN);
process.stdout.write(`${figures.length} inputs of at most ${BYTES} bytes\n`);
for (const { name, milliseconds, bytes, answer } of slowest) {
  process.stdout.write(`${milliseconds.toFixed(0).padStart(7)} ms  ${bytes} bytes  ${name}  → ${answer}\n`);
}

/** A call with a body of about as many bytes; undefined for what is no call. */
function callOf({ work }: GrowingInput) {
  const bytesOf = (n: number) => {
    const call = work(n);
    return 'bytes' in call && typeof call.bytes === 'number' ? { call, bytes: call.bytes } : undefined;
  };
  const [none, small] = [bytesOf(1), bytesOf(SMALL)];
  if (!none || !small || small.bytes <= none.bytes) return undefined;
  const n = Math.floor(((BYTES - none.bytes) / (small.bytes - none.bytes)) * (SMALL - 1));
  for (let size = n; size > 0; size = Math.floor(size * 0.95)) {
    const made = bytesOf(size);
    if (made && made.bytes <= BYTES)
      return Object.assign(() => made.call() as Promise<string>, { bytes: made.bytes });
  }
  return undefined;
}
