/** A timer. Cancelling a timer that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** Monotonic time and timers, injected so that tests control time. */
export interface Clock {
  /** Milliseconds since a fixed moment, with fractions; never goes back. Not wall-clock time. */
  now(): number;
  /**
   * Calls `fire` once, after `delayMs` or {@link maxTimerMs}, whichever is sooner; never within this call, even when
   * the delay is below 0. It may fire a fraction of a millisecond early. So code with a deadline compares it with
   * `now()`, and sets a timer for the rest.
   */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** The longest delay of Node's timers, near 25 days: Node fires anything longer after 1 ms. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * The clock of the process. Its timers keep the process alive, because the code that waits for a timer must continue.
 * Code that sets a timer cancels it at shutdown.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(delayMs, fire) {
    // For a delay below 0, Node prints a warning between the lines of a JSON log.
    const timeout = setTimeout(fire, Math.max(0, Math.min(delayMs, maxTimerMs)));
    return { cancel: () => clearTimeout(timeout) };
  },
};
