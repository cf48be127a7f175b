import { type Profiler, Session } from 'node:inspector/promises';
import { countBuiltins, stepsInBuiltins } from './builtins.ts';

/**
 * Counts the steps of work in this process: how often each function and each block of ours and of our libraries ran, by
 * V8's own counts, and what builtins walked through. The same work has the same count on every machine, however busy.
 */
export class StepCounter {
  readonly #session = new Session();
  #builtins = 0;

  /** What is to be counted must be imported after this. */
  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    countBuiltins();
  }

  /** The steps of one call, until its promise is settled. */
  async count(work: () => unknown): Promise<number> {
    await this.since();
    await work();
    return await this.since();
  }

  /** The steps since the last call. */
  async since(): Promise<number> {
    const builtins = stepsInBuiltins() - this.#builtins;
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const runs = result.filter(isCounted).reduce((sum, script) => sum + runsOf(script), 0);
    // What the sum itself walks through is not counted.
    this.#builtins = stepsInBuiltins();
    return Math.round(builtins + runs);
  }
}

/** Not Node's own, and not what counts. */
function isCounted({ url }: Profiler.ScriptCoverage): boolean {
  return url.startsWith('file:') && !url.includes('/test/support/growth/');
}

function runsOf({ functions }: Profiler.ScriptCoverage): number {
  return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
}
