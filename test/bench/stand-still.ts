import { HttpError } from '../../src/kube/admission/http-error.ts';
import type { GrowingInput } from '../support/growth/growing-input.ts';
import { WORST } from '../support/growth/worst-inputs.ts';

/**
 * Prints for how long each call of a webhook holds the event loop, the longest first, with bodies of at most so many
 * bytes (3 MiB by default): `node test/bench/stand-still.ts [BYTES] [PART OF A NAME]`. Where such a body is refused for
 * what it holds, one that is as large as may be. The time is that of the processor, of this thread: what other processes
 * do costs it little. Ends with 1 where a call takes longer than the bound.
 */
const BYTES = Number(process.argv[2] ?? 3 * 1024 * 1024);
const only = process.argv[3] ?? '';
const BOUND_MS = 200;
const SHOWN = 25;
const RUNS = 3;
const SMALL = 1_000;
const SMALLER = 0.8;

interface Figure {
  readonly name: string;
  readonly milliseconds: number;
  readonly bytes: number;
  readonly answer: string;
}

const figures: Figure[] = [];
for (const input of WORST.filter(({ name }) => name.includes(only))) {
  const figure = await worstOf(input);
  if (!figure) continue;
  figures.push(figure);
  // As they come: the whole takes minutes.
  if (figure.milliseconds > BOUND_MS) process.stderr.write(`${line(figure)}\n`);
}
const slowest = figures.toSorted((a, b) => b.milliseconds - a.milliseconds);
process.stdout.write(`${figures.length} inputs of at most ${BYTES} bytes\n`);
for (const figure of slowest.slice(0, SHOWN)) process.stdout.write(`${line(figure)}\n`);
if (slowest.some(({ milliseconds }) => milliseconds > BOUND_MS)) process.exitCode = 1;

function line({ name, milliseconds, bytes, answer }: Figure): string {
  return `${milliseconds.toFixed(0).padStart(6)} ms  ${bytes} bytes  ${name}: ${answer}`;
}

/** Undefined for what is no call of a webhook. */
async function worstOf(input: GrowingInput): Promise<Figure | undefined> {
  for (let n = partsIn(input); n !== undefined && n > 0; n = Math.floor(n * SMALLER)) {
    const call = callOf(input, n);
    if (!call || call.bytes > BYTES) continue;
    if (!(await isTaken(call))) continue;
    const answer = await call.run();
    let milliseconds = Number.POSITIVE_INFINITY;
    for (let run = 0; run < RUNS; run++) {
      const start = process.threadCpuUsage();
      await call.run();
      const { user, system } = process.threadCpuUsage(start);
      milliseconds = Math.min(milliseconds, (user + system) / 1000);
    }
    return { name: input.name, milliseconds, bytes: call.bytes, answer: answer.slice(0, 30) };
  }
  return undefined;
}

/** Whether the body is not refused for what it holds. */
async function isTaken(call: { readonly run: () => Promise<string> }): Promise<boolean> {
  try {
    return !(await call.run()).startsWith('413');
  } catch (error) {
    if (error instanceof HttpError && error.status === 413) return false;
    throw error;
  }
}

/** How many parts a body of so many bytes has. */
function partsIn(input: GrowingInput): number | undefined {
  const [none, small] = [callOf(input, 1), callOf(input, SMALL)];
  if (!none || !small || small.bytes <= none.bytes) return undefined;
  return Math.floor(((BYTES - none.bytes) / (small.bytes - none.bytes)) * (SMALL - 1));
}

function callOf({ work }: GrowingInput, n: number) {
  const call = work(n);
  if (!('bytes' in call) || typeof call.bytes !== 'number') return undefined;
  return { bytes: call.bytes, run: async () => String(await call()) };
}
