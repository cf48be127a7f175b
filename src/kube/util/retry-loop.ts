import { retryAfterMs } from '../api/api-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { sleep } from './sleep.ts';
import type { Task } from './task-group.ts';

export interface RepeatOptions {
  readonly clock: Clock;
  /** From the end of one call to the next. Without it, the first call that succeeds is the last. */
  readonly everyMs?: number | undefined;
  /** From a failure to the next call; longer if the API server asks for it. */
  readonly retryMs: number;
  /** Called with the error of a call that failed before the signal aborted. */
  readonly failed: (error: unknown) => void;
}

/** Calls the task repeatedly until the signal aborts. Never rejects. */
export async function retryLoop(
  task: Task,
  { clock, everyMs, retryMs, failed }: RepeatOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let delayMs = everyMs;
    try {
      await task(signal);
      if (delayMs === undefined) return;
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      delayMs = Math.max(retryMs, retryAfterMs(error));
    }
    // Rejects when the signal aborts, which ends the loop.
    await sleep(clock, delayMs, signal).catch(() => undefined);
  }
}
