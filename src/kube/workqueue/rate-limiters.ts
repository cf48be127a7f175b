import type { Clock } from './clock.ts';
import { TokenBucket, type TokenBucketOptions } from './token-bucket.ts';

/** Decides how long a key waits before its next attempt (client-go `util/workqueue/default_rate_limiters.go`). */
export interface RateLimiter<K> {
  /** Counts one more failure of the key. @returns the milliseconds to wait, 0 or more. */
  when(key: K): number;
  /** Forgets the key's failures: it succeeded, or there are no more retries. */
  forget(key: K): void;
  /** Failures of the key since it was last forgotten. */
  numRequeues(key: K): number;
}

/** `baseMs`, doubled with each failure of the key, up to `maxMs`. */
export function exponentialLimiter<K>(options: {
  readonly baseMs: number;
  readonly maxMs: number;
}): RateLimiter<K> {
  // 2 ** n grows to Infinity, which is above any maximum: it cannot overflow.
  return perKey((failures) => Math.min(options.maxMs, options.baseMs * 2 ** failures));
}

/** `fastMs` for the key's first `maxFastAttempts` failures, then `slowMs`. */
export function fastSlowLimiter<K>(options: {
  readonly fastMs: number;
  readonly slowMs: number;
  readonly maxFastAttempts: number;
}): RateLimiter<K> {
  return perKey((failures) => (failures < options.maxFastAttempts ? options.fastMs : options.slowMs));
}

/** One rate for all keys together. It has no state per key, so there is nothing to forget. */
export function tokenBucketLimiter<K>(options: TokenBucketOptions): RateLimiter<K> {
  const bucket = new TokenBucket(options);
  return { when: () => bucket.reserve(), forget() {}, numRequeues: () => 0 };
}

/** The longest delay of all the limiters. */
export function maxOfLimiter<K>(...limiters: readonly RateLimiter<K>[]): RateLimiter<K> {
  return {
    when: (key) => Math.max(0, ...limiters.map((limiter) => limiter.when(key))),
    forget(key) {
      for (const limiter of limiters) limiter.forget(key);
    },
    numRequeues: (key) => Math.max(0, ...limiters.map((limiter) => limiter.numRequeues(key))),
  };
}

/** The delay of `limiter`, at most `maxMs`. */
export function maxWaitLimiter<K>(limiter: RateLimiter<K>, maxMs: number): RateLimiter<K> {
  return {
    when: (key) => Math.min(maxMs, limiter.when(key)),
    forget: (key) => limiter.forget(key),
    numRequeues: (key) => limiter.numRequeues(key),
  };
}

/** client-go's limiter for controllers: 5 ms, doubled up to 1000 s per key; 10 retries/s, burst 100, for all keys. */
export function defaultControllerLimiter<K>(clock: Clock): RateLimiter<K> {
  return maxOfLimiter(
    exponentialLimiter({ baseMs: 5, maxMs: 1_000_000 }),
    tokenBucketLimiter({ clock, ratePerSecond: 10, burst: 100 }),
  );
}

/** A limiter that counts each key's failures; `delayOf` gets the number before the present failure. */
function perKey<K>(delayOf: (failures: number) => number): RateLimiter<K> {
  const failures = new Map<K, number>();
  const numRequeues = (key: K) => failures.get(key) ?? 0;
  return {
    when(key) {
      const before = numRequeues(key);
      failures.set(key, before + 1);
      return delayOf(before);
    },
    forget(key) {
      failures.delete(key);
    },
    numRequeues,
  };
}
