import type { Clock } from '../workqueue/clock.ts';
import { sleep } from './sleep.ts';
import type { Task } from './together.ts';

export interface RepeatOptions {
  readonly clock: Clock;
  /** From the end of one call to the next. */
  readonly everyMs: number;
  /** Is told what a call has thrown; the next one comes as ever. */
  readonly failed: (error: unknown) => void;
}

/** Calls the task again and again until the signal aborts. Never rejects. */
export async function repeat(
  task: Task,
  { clock, everyMs, failed }: RepeatOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task(signal);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
    // Rejects when the signal aborts, which ends this.
    await sleep(clock, everyMs, signal).catch(() => undefined);
  }
}
