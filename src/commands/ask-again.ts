import { sleep } from '../kube/sleep.ts';
import type { Clock } from '../workqueue/clock.ts';

const PERIOD_MS = 600_000;
/** Upwards, so that replicas do not ask at once. */
const JITTER = 0.2;

/** How long what the API server serves is taken for known, in milliseconds: it may be upgraded while this process runs. */
export function askAgainMs(): number {
  return PERIOD_MS * (1 + JITTER * Math.random());
}

/** Does the work again each time that a delay has passed, until the signal aborts. Rejects as the work does. */
export async function repeat(
  clock: Clock,
  delayMs: () => number,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Rejects only when the signal aborts.
    await sleep(clock, delayMs(), signal).catch(() => undefined);
    if (!signal.aborted) await work(signal);
  }
}
