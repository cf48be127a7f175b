import type { Clock } from '../workqueue/clock.ts';

/** Resolves after the delay, never sooner; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const end = clock.now() + delayMs;
    let timer = clock.setTimer(delayMs, wake);
    function wake(): void {
      const left = end - clock.now();
      // A timer may fire a little early, and Retry-After must be respected.
      if (left > 0) {
        timer = clock.setTimer(left, wake);
        return;
      }
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }
    function onAbort(): void {
      timer.cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
