import { MAX_TIMER_MS } from '../../util/duration.ts';

/** A timer. Cancelling a timer that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** Monotonic time and timers, injected so that tests control time. */
export interface Clock {
  /** Milliseconds since a fixed moment, with fractions; never goes back. Not wall-clock time. */
  now(): number;
  /** Calls `fire` once when the delay has passed, never sooner; never within this call, even when the delay is below 0. */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/**
 * The clock of the process. Its timers keep the process alive, because the code that waits for a timer must continue.
 * Code that sets a timer cancels it at shutdown.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(delayMs, fire) {
    const end = performance.now() + delayMs;
    // For a delay below 0, Node prints a warning between the lines of a JSON log.
    const wait = (ms: number) => setTimeout(check, Math.max(0, Math.min(ms, MAX_TIMER_MS)));
    let timeout = wait(delayMs);
    function check(): void {
      const left = end - performance.now();
      // Node fires a fraction of a millisecond early, too.
      if (left > 0) timeout = wait(left);
      else fire();
    }
    return { cancel: () => clearTimeout(timeout) };
  },
};
