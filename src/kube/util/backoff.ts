import type { Clock } from '../workqueue/clock.ts';

export interface BackoffDelays {
  readonly firstMs: number;
  readonly maxMs: number;
  /** No failure for this long: the next one starts over. */
  readonly resetMs: number;
}

export interface BackoffOptions extends Partial<BackoffDelays> {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * Growing delays between failures, with jitter so that many clients of one server that failed do not come back at once.
 * The reflector's figures in client-go: 0.8 s, doubled, jitter 1.0 (each up to twice as long), reset after 2 min. But up
 * to 3.2 s where client-go goes up to 30 s: that spares API servers thousands of nodes, and would leave the few replicas of
 * an operator blind for a minute after an outage of seconds.
 */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #delays: BackoffDelays;
  #nextMs: number;
  #lastFailure = Number.NEGATIVE_INFINITY;

  constructor({ clock, random, firstMs = 800, maxMs = 3_200, resetMs = 120_000 }: BackoffOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#delays = { firstMs, maxMs, resetMs };
    this.#nextMs = firstMs;
  }

  /** How long to wait after a failure now, in milliseconds. */
  next(): number {
    const { firstMs, maxMs, resetMs } = this.#delays;
    const now = this.#clock.now();
    if (now - this.#lastFailure > resetMs) this.#nextMs = firstMs;
    this.#lastFailure = now;
    const delay = this.#nextMs * (1 + this.#random());
    this.#nextMs = Math.min(this.#nextMs * 2, maxMs);
    return delay;
  }

  /** The next failure is the first of another series. */
  reset(): void {
    this.#nextMs = this.#delays.firstMs;
  }
}
