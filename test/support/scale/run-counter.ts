import { type Profiler, Session } from 'node:inspector/promises';
import { countBuiltins, stepsInBuiltins } from '../growth/builtins.ts';

/** From where to where in a file, and how often it ran. */
type Range = readonly [start: number, end: number, count: number];

/** How often each function of ours ran, and each block in it that ran another number of times: by file and name. */
export type Runs = Readonly<Record<string, readonly Range[]>>;

/** The steps of builtins that walk through lists and texts, as if they were one function. */
const BUILTINS = 'builtins';

/**
 * Counts what runs in this process, by V8's own counts. Only our own functions: how often those of libraries run depends
 * on how the network cuts answers into pieces.
 */
export class RunCounter {
  readonly #session = new Session();
  #builtins = 0;

  /** What is to be counted must be imported after this. */
  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    countBuiltins();
  }

  /** Since the last call. */
  async since(): Promise<Runs> {
    const walked = Math.round(stepsInBuiltins() - this.#builtins);
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const runs = Object.fromEntries(result.flatMap(runsOf));
    // What this itself walks through is not counted.
    this.#builtins = stepsInBuiltins();
    return { ...runs, [BUILTINS]: [[0, 0, walked]] };
  }
}

function runsOf({ url, functions }: Profiler.ScriptCoverage): (readonly [string, readonly Range[]])[] {
  const path = /^file:.*\/src\/(.*)$/.exec(url)?.[1];
  if (path === undefined) return [];
  return functions
    .filter(({ ranges: [whole] }) => whole && whole.count > 0)
    .map(({ functionName, ranges }) => {
      const [whole] = ranges;
      const name = `${path} ${functionName || 'a function'} at ${whole?.startOffset}`;
      return [name, ranges.map(({ startOffset, endOffset, count }) => [startOffset, endOffset, count])];
    });
}

/** How often the code in this range ran: as often as the smallest counted range around it. */
export function countAt(runs: Runs, name: string, [start, end]: Range): number {
  const around = (runs[name] ?? []).filter(([from, to]) => from <= start && end <= to);
  const [smallest] = around.toSorted(([a, b], [c, d]) => b - a - (d - c));
  return smallest?.[2] ?? 0;
}

/** The sum of what ran in each of these times. */
export function sumOf(all: readonly Runs[]): Runs {
  return combined(all, (counts) => counts.reduce((sum, count) => sum + count, 0));
}

/** The most and the fewest runs in any of these times: what came together in one ran twice in another. */
export function mostOf(all: readonly Runs[]): Runs {
  return combined(all, (counts) => Math.max(...counts));
}
export function fewestOf(all: readonly Runs[]): Runs {
  return combined(all, (counts) => Math.min(...counts));
}

function combined(all: readonly Runs[], combine: (counts: readonly number[]) => number): Runs {
  const names = new Set(all.flatMap((runs) => Object.keys(runs)));
  return Object.fromEntries(
    [...names].map((name) => {
      const ranges = new Map(
        all.flatMap((runs) => (runs[name] ?? []).map((range) => [`${range[0]}-${range[1]}`, range] as const)),
      );
      return [
        name,
        [...ranges.values()].map((range): Range => {
          const [start, end] = range;
          return [start, end, combine(all.map((runs) => countAt(runs, name, range)))];
        }),
      ];
    }),
  );
}

/** The runs of all functions together. */
export function callsIn(runs: Runs): number {
  return Object.entries(runs).reduce(
    (sum, [name, [whole]]) => sum + (name === BUILTINS ? 0 : (whole?.[2] ?? 0)),
    0,
  );
}
