import { DelayingQueue } from './delaying-queue.ts';
import type { QueueOptions } from './queue.ts';
import type { RateLimiter } from './rate-limiters.ts';

/** The queue of a controller, as its event handlers and workers see it. */
export interface RateLimitingQueue<K> {
  /** Keys that get() would hand out at once. */
  readonly length: number;
  /** Adds the key at once, however often it failed before. For events. */
  add(key: K): void;
  addAfter(key: K, delayMs: number): void;
  /**
   * Adds the key after the delay of its limiter, but not before `atLeastMs` (default 0). For failures.
   * @returns that delay in milliseconds.
   */
  addRateLimited(key: K, atLeastMs?: number): number;
  /** Resets the count of the key's failures. The caller must still call done(). */
  forget(key: K): void;
  /** Calls of addRateLimited() with the key since it was last forgotten. */
  numRequeues(key: K): number;
  /** Resolves with the next key, or undefined once shut down and empty. The caller must call done() with the key. */
  get(): Promise<K | undefined>;
  done(key: K): void;
  /** Accepts no more keys; queued keys are still handed out, and delayed keys are dropped. */
  shutDown(): void;
  /** Like shutDown(), and resolves once every key is done, or when shutDown() is called. */
  shutDownWithDrain(): Promise<void>;
}

/** A delaying queue with a rate limiter (client-go `util/workqueue/rate_limiting_queue.go`). */
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
