import type { Clock } from '../workqueue/clock.ts';
import { abortable } from './linked-abort.ts';

/** Resolves after the delay, never sooner; rejects with the signal's reason as soon as it aborts. */
export async function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(delayMs, resolve);
  await (signal ? abortable(promise, signal) : promise).finally(() => timer.cancel());
}
