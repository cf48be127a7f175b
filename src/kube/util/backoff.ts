import type { Clock } from '../workqueue/clock.ts';

export interface BackoffDelays {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this long without a failure, the delays start over. */
  readonly resetMs: number;
}

export interface BackoffOptions extends Partial<BackoffDelays> {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * Growing delays between failures. Jitter keeps many clients of one failed server from coming back at once. The numbers
 * are those of client-go's reflector: 0.8 s, doubled, jitter 1.0 (each up to twice as long), reset after 2 min. The
 * limit is 3.2 s. client-go's 30 s protects API servers from thousands of nodes; an operator has few replicas, and
 * would see nothing for a minute after an outage of seconds.
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

  /** Starts over: the next delay is the first one again. */
  reset(): void {
    this.#nextMs = this.#delays.firstMs;
  }
}
