import type { Timer } from './clock.ts';
import { Queue, type QueueOptions } from './queue.ts';
import type { RateLimiter } from './rate-limiters.ts';

/** A key that is added at a deadline. */
interface Waiting {
  readonly deadline: number;
  timer: Timer;
}

/**
 * The queue of a controller: keys can be added with a delay, for example that of a rate limiter (client-go
 * `util/workqueue/delaying_queue.go` and `rate_limiting_queue.go`).
 */
export class WorkQueue<K> extends Queue<K> {
  readonly #limiter: RateLimiter<K>;
  readonly #waiting = new Map<K, Waiting>();

  constructor({ limiter, ...options }: QueueOptions & { readonly limiter: RateLimiter<K> }) {
    super(options);
    this.#limiter = limiter;
  }

  /**
   * Adds the key after `delayMs`, or at once if that is not above 0. A key waits once: of two deadlines, the earlier
   * one counts. Shutdown drops the keys that still wait.
   */
  addAfter(key: K, delayMs: number): void {
    if (this.shuttingDown) return;
    this.metrics?.retried();
    // Not `delayMs <= 0`, which is false for NaN.
    if (!(delayMs > 0)) {
      this.add(key);
      return;
    }
    const deadline = this.clock.now() + delayMs;
    const known = this.#waiting.get(key);
    if (known && known.deadline <= deadline) return;
    known?.timer.cancel();
    const waiting = { deadline, timer: this.clock.setTimer(delayMs, due) };
    this.#waiting.set(key, waiting);
    const queue = this;
    function due(): void {
      const left = deadline - queue.clock.now();
      if (left > 0) {
        waiting.timer = queue.clock.setTimer(left, due);
        return;
      }
      queue.#waiting.delete(key);
      queue.add(key);
    }
  }

  /**
   * Adds the key after the delay of its limiter, but not before `atLeastMs`. For failures.
   * @returns that delay in milliseconds.
   */
  addRateLimited(key: K, atLeastMs = 0): number {
    const delayMs = Math.max(atLeastMs, this.#limiter.when(key));
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** Resets the count of the key's failures. The caller must still call done(). */
  forget(key: K): void {
    this.#limiter.forget(key);
  }

  /** Calls of addRateLimited() with the key since it was last forgotten. */
  numRequeues(key: K): number {
    return this.#limiter.numRequeues(key);
  }

  override shutDown(): void {
    this.#dropWaiting();
    super.shutDown();
  }

  override shutDownWithDrain(): Promise<void> {
    this.#dropWaiting();
    return super.shutDownWithDrain();
  }

  #dropWaiting(): void {
    for (const { timer } of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
  }
}

/** What its event handlers and workers see of it. */
export type RateLimitingQueue<K> = Pick<WorkQueue<K>, keyof WorkQueue<K>>;
