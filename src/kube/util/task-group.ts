import { retryAfterMs } from '../api/api-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { linkedAbort, sleep } from './waits.ts';

/** Work that ends soon after its signal aborts. */
export type Task = (signal: AbortSignal) => Promise<unknown>;

/**
 * Runs the tasks under one signal, which aborts with the outer one. The first failure aborts it too. Settles only when
 * every task has ended: resolves, or rejects with the first failure.
 */
export async function runTaskGroup(outer: AbortSignal, tasks: readonly Task[]): Promise<void> {
  const { controller, unlink } = linkedAbort(outer);
  const failures: unknown[] = [];
  const run = async (task: Task) => {
    try {
      await task(controller.signal);
    } catch (error) {
      failures.push(error);
      controller.abort(error);
    }
  };
  await Promise.all(tasks.map(run));
  unlink();
  if (failures.length > 0) throw failures[0];
}

export interface RepeatOptions {
  readonly clock: Clock;
  /** From the end of one call to the next, in milliseconds. */
  readonly everyMs: number;
  /** From a failure to the next call; longer if the API server asks for it. Default `everyMs`. */
  readonly retryMs?: number | undefined;
  /** Called with the error of a call that failed before the signal aborted. */
  readonly failed: (error: unknown) => void;
}

/** Calls the task repeatedly until the signal aborts. Never rejects. */
export async function retryLoop(
  task: Task,
  { clock, everyMs, retryMs = everyMs, failed }: RepeatOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let delayMs = everyMs;
    try {
      await task(signal);
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      delayMs = Math.max(retryMs, retryAfterMs(error));
    }
    // Rejects when the signal aborts, which ends the loop.
    await sleep(clock, delayMs, signal).catch(() => undefined);
  }
}
