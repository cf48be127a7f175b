import { HttpError } from '../admission/http-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';
import { abortable } from './linked-abort.ts';
import { LruMap } from './lru-map.ts';
import { sleep } from './sleep.ts';

export interface LookUpsOptions<V> {
  readonly clock: Clock;
  /** Asks the API server. */
  readonly ask: (key: string, signal: AbortSignal) => Promise<V>;
  /** Requests a second over time. */
  readonly perSecond: number;
  /** Requests at once after a quiet time. */
  readonly burst: number;
}

/** Of one key, a request is sent no sooner than this after the one before. */
const SPACING_MS = 250;
const TIMEOUT_MS = 5_000;
/** Keys of which it is known when they were asked for. */
const REMEMBERED = 1024;

/**
 * Asks the API server for what reviews need and no cache has. Anyone may send reviews, so the requests are few however
 * many reviews there are. An answer is never older than the question: a request is shared by those who ask before it is
 * sent, and not by those who ask later. Whether something was found makes no difference.
 */
export class LookUps<V> {
  readonly #options: LookUpsOptions<V>;
  readonly #bucket: TokenBucket;
  /** The answers to requests that are not sent yet. */
  readonly #unsent = new Map<string, Promise<V>>();
  readonly #sentAt = new LruMap<string, number>(REMEMBERED);

  constructor(options: LookUpsOptions<V>) {
    const { clock, perSecond: ratePerSecond, burst } = options;
    this.#options = options;
    this.#bucket = new TokenBucket({ clock, ratePerSecond, burst });
  }

  /**
   * The answer of the API server, from now or later. Rejects as the request does, with the signal's reason, and with
   * HttpError 503 when there are too many requests.
   */
  async get(key: string, signal: AbortSignal): Promise<V> {
    let answer = this.#unsent.get(key);
    if (!answer) {
      if (!this.#bucket.tryTake()) {
        const message = 'too much is asked of the API server at once: try again';
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
    // At least a turn, so that the map holds the request before it is taken out.
    await sleep(clock, Math.max(0, sentAt + SPACING_MS - clock.now()));
    this.#unsent.delete(key);
    this.#sentAt.set(key, clock.now());
    return ask(key, AbortSignal.timeout(TIMEOUT_MS));
  }
}
