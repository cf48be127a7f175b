import type { Clock } from './clock.ts';

export interface BackoffOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: () => number;
  readonly firstMs?: number;
  readonly maxMs?: number;
}

/** After this long without a failure, the delays start over. */
const RESET_MS = 120_000;

/**
 * Growing delays between failures. Jitter keeps many clients of one failed server from coming back at once. The numbers
 * are those of client-go's reflector: 0.8 s, doubled, jitter 1.0 (each up to twice as long), reset after 2 min. The
 * limit is 3.2 s. client-go's 30 s protects API servers from thousands of nodes; an operator has few replicas, and
 * would see nothing for a minute after an outage of seconds.
 */
export function backoff({ clock, random, firstMs = 800, maxMs = 3_200 }: BackoffOptions) {
  let failures = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  const reset = () => {
    failures = 0;
  };
  return {
    /** How long to wait after a failure now, in milliseconds. */
    next(): number {
      const now = clock.now();
      if (now - failedAt > RESET_MS) reset();
      failedAt = now;
      return Math.min(maxMs, firstMs * 2 ** failures++) * (1 + random());
    },
    /** Starts over: the next delay is the first one again. */
    reset,
  };
}

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly ratePerSecond: number;
  /** Tokens in the full bucket; it starts full. */
  readonly burst: number;
}

/** Limits a rate over time, with bursts, like Reserve of Go's `x/time/rate`. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.now();
  }

  /** Takes a token, on credit if the bucket is empty. @returns the milliseconds until the token exists. */
  reserve(): number {
    this.#fill();
    this.#tokens -= 1;
    return Math.max(0, (-this.#tokens / this.#options.ratePerSecond) * 1000);
  }

  /** Takes a token; returns false if the bucket is empty. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #fill(): void {
    const { clock, ratePerSecond, burst } = this.#options;
    const now = clock.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * ratePerSecond) / 1000);
    this.#filledAt = now;
  }
}
