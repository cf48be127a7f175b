import { DelayingQueue } from './delaying-queue.ts';
import type { QueueOptions } from './queue.ts';
import type { RateLimiter } from './rate-limiters.ts';

/** The queue of a controller, as its event handlers and workers see it. */
export interface RateLimitingQueue<K> {
  /** Keys that get() would hand out at once. */
  readonly length: number;
  /** For what is new: an event adds at once, however often its key failed before. */
  add(key: K): void;
  addAfter(key: K, delayMs: number): void;
  /**
   * For what failed: adds the key when its limiter lets it try again, but not before `atLeastMs` (0 unless given).
   * @returns that delay in milliseconds.
   */
  addRateLimited(key: K, atLeastMs?: number): number;
  /** Ends the count of the key's failures. It still has to be done(). */
  forget(key: K): void;
  /** How often the key was added by addRateLimited() since it was last forgotten. */
  numRequeues(key: K): number;
  /** Resolves with the next key, or undefined once shut down and drained. Who gets a key must call done() with it. */
  get(): Promise<K | undefined>;
  done(key: K): void;
  /** Takes no more keys; those queued are still handed out, those that wait for their time are dropped. */
  shutDown(): void;
  /** As shutDown(), and resolves once every key is done, or when shutDown() is called. */
  shutDownWithDrain(): Promise<void>;
}

/** The real one: a delaying queue and a rate limiter (client-go `util/workqueue/rate_limiting_queue.go`). */
export class WorkQueue<K> extends DelayingQueue<K> implements RateLimitingQueue<K> {
  readonly #limiter: RateLimiter<K>;

  constructor({ limiter, ...options }: QueueOptions & { readonly limiter: RateLimiter<K> }) {
    super(options);
    this.#limiter = limiter;
  }

  addRateLimited(key: K, atLeastMs = 0): number {
    const delayMs = Math.max(atLeastMs, this.#limiter.when(key));
    this.addAfter(key, delayMs);
    return delayMs;
  }

  forget(key: K): void {
    this.#limiter.forget(key);
  }

  numRequeues(key: K): number {
    return this.#limiter.numRequeues(key);
  }
}
