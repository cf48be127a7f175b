import { HttpError } from '../admission/http-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/rate-limiters.ts';
import { LruMap } from './lru-map.ts';
import { abortable, sleep } from './waits.ts';

export interface RateLimitedSingleflightOptions<V> {
  readonly clock: Clock;
  /** Sends the request to the API server. */
  readonly ask: (key: string, signal: AbortSignal) => Promise<V>;
  /** Requests a second over time. */
  readonly perSecond: number;
  /** Requests that may be sent at once after a quiet time. */
  readonly burst: number;
}

/** The least time between two requests for one key. */
const SPACING_MS = 250;
const TIMEOUT_MS = 5_000;
/** Keys whose time of the last request is remembered. */
const REMEMBERED = 1024;

/**
 * Gets from the API server what reviews need and no cache has. Anyone may send reviews, so the number of requests is
 * bounded, however many reviews arrive. An answer is never older than the question: callers share a request only until
 * it is sent. This holds for objects that do not exist, too.
 */
export class RateLimitedSingleflight<V> {
  readonly #options: RateLimitedSingleflightOptions<V>;
  readonly #bucket: TokenBucket;
  /** The answers to requests that have not been sent. */
  readonly #unsent = new Map<string, Promise<V>>();
  readonly #sentAt = new LruMap<string, number>(REMEMBERED);

  constructor(options: RateLimitedSingleflightOptions<V>) {
    const { clock, perSecond: ratePerSecond, burst } = options;
    this.#options = options;
    this.#bucket = new TokenBucket({ clock, ratePerSecond, burst });
  }

  /**
   * Resolves with the API server's answer, which is from now or later. Rejects with the error of the request, with the
   * signal's reason, or with HttpError 503 when there are too many requests.
   */
  async get(key: string, signal: AbortSignal): Promise<V> {
    let answer = this.#unsent.get(key);
    if (!answer) {
      if (!this.#bucket.tryTake()) {
        const message = 'too many requests to the API server: try again';
        throw new HttpError(503, message, { refusal: 'too_many_lookups' });
      }
      answer = this.#request(key);
      this.#unsent.set(key, answer);
    }
    return abortable(answer, signal);
  }

  async #request(key: string): Promise<V> {
    const { clock, ask } = this.#options;
    const sentAt = this.#sentAt.get(key) ?? Number.NEGATIVE_INFINITY;
    // Waits at least one turn, so that the map holds the request before this line removes it.
    await sleep(clock, Math.max(0, sentAt + SPACING_MS - clock.now()));
    this.#unsent.delete(key);
    this.#sentAt.set(key, clock.now());
    return ask(key, AbortSignal.timeout(TIMEOUT_MS));
  }
}
