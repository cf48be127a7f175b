import type { Clock } from './clock.ts';
import { TokenBucket } from './token-bucket.ts';

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
