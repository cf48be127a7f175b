/** A timer that was set. Cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** Monotonic time and timers, injected so that tests own time. */
export interface Clock {
  /** Milliseconds since some fixed moment, with fractions; never goes back. Not the time of day. */
  now(): number;
  /**
   * Calls `fire` once, `delayMs` from now or after {@link maxTimerMs}, whichever is sooner; never within this call, even
   * when the delay is below 0. It may come a
   * fraction of a millisecond early, so code with a deadline compares it with `now()` and sets the rest again.
   */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** The longest delay a timer of the system takes, near 25 days: Node fires anything longer after 1 ms. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * The process's own clock. Its timers keep the process alive, because whatever waits for one would otherwise
 * never go on: who sets a timer cancels it at shutdown.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(delayMs, fire) {
    // Node warns of a delay below 0, in text between the lines of a JSON log.
    const timeout = setTimeout(fire, Math.max(0, Math.min(delayMs, maxTimerMs)));
    return { cancel: () => clearTimeout(timeout) };
  },
};
