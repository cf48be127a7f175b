import { HttpError } from '../admission/http-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type Rate, tokenBucket } from '../workqueue/rate-limiters.ts';
import { LruMap } from './lru-map.ts';
import { abortable, sleep } from './waits.ts';

/** The least time between two requests for one key. */
const SPACING_MS = 250;
const TIMEOUT_MS = 5_000;
/** Keys whose time of the last request is remembered. */
const REMEMBERED = 1024;

/**
 * Gets from the API server what reviews need and no cache has. Anyone may send reviews, so the number of requests is
 * bounded, however many reviews arrive. An answer is never older than the question: callers share a request only until
 * it is sent. This holds for objects that do not exist, too.
 *
 * Returns a function that resolves with the API server's answer, which is from now or later. It rejects with the error
 * of the request that `ask` sends, with the signal's reason, or with HttpError 503 when there are too many requests.
 */
export function rateLimitedSingleflight<V>(
  clock: Clock,
  rate: Rate,
  ask: (key: string, signal: AbortSignal) => Promise<V>,
): (key: string, signal: AbortSignal) => Promise<V> {
  const bucket = tokenBucket(clock, rate);
  /** The answers to requests that have not been sent. */
  const unsent = new Map<string, Promise<V>>();
  const sentAt = new LruMap<string, number>(REMEMBERED);
  const request = async (key: string): Promise<V> => {
    const last = sentAt.get(key) ?? Number.NEGATIVE_INFINITY;
    // Waits at least one turn, so that the map holds the request before this line removes it.
    await sleep(clock, Math.max(0, last + SPACING_MS - clock.now()));
    unsent.delete(key);
    sentAt.set(key, clock.now());
    return ask(key, AbortSignal.timeout(TIMEOUT_MS));
  };
  return async (key, signal) => {
    let answer = unsent.get(key);
    if (!answer) {
      if (!bucket.tryTake())
        throw new HttpError(503, 'too many requests to the API server: try again', 'too_many_lookups');
      answer = request(key);
      unsent.set(key, answer);
    }
    return abortable(answer, signal);
  };
}
