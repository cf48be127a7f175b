import type { Clock } from './clock.ts';

/** Decides how long a key waits before its next attempt (client-go `util/workqueue/default_rate_limiters.go`). */
export interface RateLimiter<K> {
  /** Counts one more failure of the key. @returns the milliseconds to wait, 0 or more. */
  when(key: K): number;
  /** Forgets the key's failures: it succeeded, or there are no more retries. */
  forget(key: K): void;
}

/** `baseMs`, doubled with each failure of the key, up to `maxMs`. */
export function exponentialLimiter<K>(baseMs: number, maxMs: number): RateLimiter<K> {
  const failures = new Map<K, number>();
  return {
    when(key) {
      const before = failures.get(key) ?? 0;
      failures.set(key, before + 1);
      // 2 ** n grows to Infinity, which is above any maximum: it cannot overflow.
      return Math.min(maxMs, baseMs * 2 ** before);
    },
    forget: (key) => void failures.delete(key),
  };
}

/** client-go's limiter for controllers: 5 ms, doubled up to 1000 s per key; 10 retries/s, burst 100, for all keys. */
export function defaultControllerLimiter<K>(clock: Clock, maxMs = 1_000_000): RateLimiter<K> {
  const ofKey = exponentialLimiter<K>(5, maxMs);
  const ofAll = new TokenBucket({ clock, ratePerSecond: 10, burst: 100 });
  return { ...ofKey, when: (key) => Math.max(ofKey.when(key), ofAll.reserve()) };
}

export interface BackoffOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: () => number;
  readonly firstMs?: number;
  readonly maxMs?: number;
  /** After this long without a failure, the delays start over. */
  readonly resetMs?: number;
}

/**
 * Growing delays between failures. Jitter keeps many clients of one failed server from coming back at once. The numbers
 * are those of client-go's reflector: 0.8 s, doubled, jitter 1.0 (each up to twice as long), reset after 2 min. The
 * limit is 3.2 s. client-go's 30 s protects API servers from thousands of nodes; an operator has few replicas, and
 * would see nothing for a minute after an outage of seconds.
 */
export function backoff({ clock, random, firstMs = 800, maxMs = 3_200, resetMs = 120_000 }: BackoffOptions) {
  const delays = exponentialLimiter<'failure'>(firstMs, maxMs);
  let failedAt = Number.NEGATIVE_INFINITY;
  const reset = () => delays.forget('failure');
  return {
    /** How long to wait after a failure now, in milliseconds. */
    next(): number {
      const now = clock.now();
      if (now - failedAt > resetMs) reset();
      failedAt = now;
      return delays.when('failure') * (1 + random());
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
