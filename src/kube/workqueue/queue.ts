import type { QueueGauges, QueueMetrics } from '../prometheus/index.ts';
import type { Clock, Timer } from './clock.ts';
import { type TokenBucket, tokenBucket } from './rate-limiters.ts';

export interface QueueOptions {
  readonly clock: Clock;
  /** The longest delay of a key that has failed, in milliseconds; default 1000 s. */
  readonly maxRetryMs?: number | undefined;
  readonly metrics?: QueueMetrics | undefined;
}

/** client-go's delays for controllers: of a key 5 ms, doubled with each failure; of all keys 10 a second, burst 100. */
const FIRST_RETRY_MS = 5;
const MAX_RETRY_MS = 1_000_000;
const RETRIES = { ratePerSecond: 10, burst: 100 };

/**
 * A queue of keys with the semantics of client-go's workqueue (`util/workqueue`, with delays and a rate limiter):
 * - fair: keys are handed out in the order they were added;
 * - stingy: a key added several times before it is handed out is handed out once;
 * - one at a time: a key in work is not handed out again before it is done; if added meanwhile, it is queued then;
 * - keys can be added with a delay; shutdown drops those that wait for it.
 *
 * Keys are compared as in a Map; undefined is not a key.
 */
export class WorkQueue<K> implements QueueGauges {
  readonly #options: QueueOptions;
  /** Keys to hand out. Each is dirty and not processing. */
  readonly #queue = new Fifo<K>();
  /** Keys that need work, and since when. */
  readonly #dirty = new Map<K, number>();
  /** Keys in work, and since when, oldest first. If a key is dirty too, done() queues it again. */
  readonly #processing = new Map<K, number>();
  /** Keys that are added at a deadline. */
  readonly #waiting = new Map<K, { readonly deadline: number; readonly timer: Timer }>();
  /** Failures of keys in a row. */
  readonly #failures = new Map<K, number>();
  readonly #retries: TokenBucket;
  /** Waiting consumers in the order of their calls; empty unless the queue is empty. */
  readonly #consumers: ((key: K | undefined) => void)[] = [];
  #isShutDown = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#retries = tokenBucket(options.clock, RETRIES);
    options.metrics?.watch(this);
  }

  /** Keys that get() would hand out at once. */
  get length(): number {
    return this.#queue.length;
  }

  get depth(): number {
    return this.#dirty.size;
  }

  get unfinishedWorkSeconds(): number {
    const now = this.#options.clock.now();
    let milliseconds = 0;
    for (const since of this.#processing.values()) milliseconds += now - since;
    return milliseconds / 1000;
  }

  get longestRunningProcessorSeconds(): number {
    const { value: oldest } = this.#processing.values().next();
    return oldest === undefined ? 0 : (this.#options.clock.now() - oldest) / 1000;
  }

  /** Marks the key as needing work. Ignored once the queue is shut down. */
  add(key: K): void {
    if (this.#isShutDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#options.clock.now());
    this.#options.metrics?.added();
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /** Adds the key after `delayMs`, or at once if that is not above 0. Of two deadlines of a key, the earlier one counts. */
  addAfter(key: K, delayMs: number): void {
    if (this.#isShutDown) return;
    this.#options.metrics?.retried();
    // Not `delayMs <= 0`, which is false for NaN.
    if (!(delayMs > 0)) {
      this.add(key);
      return;
    }
    const deadline = this.#options.clock.now() + delayMs;
    const known = this.#waiting.get(key);
    if (known && known.deadline <= deadline) return;
    known?.timer.cancel();
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#waiting.delete(key);
      this.add(key);
    });
    this.#waiting.set(key, { deadline, timer });
  }

  /**
   * Adds the key after a delay that grows with its failures, but not before `atLeastMs`.
   * @returns that delay in milliseconds.
   */
  addRateLimited(key: K, atLeastMs = 0): number {
    const { maxRetryMs = MAX_RETRY_MS } = this.#options;
    const failures = this.numRequeues(key);
    this.#failures.set(key, failures + 1);
    // 2 ** n grows to Infinity, which is above any maximum: it cannot overflow.
    const ofKey = Math.min(maxRetryMs, FIRST_RETRY_MS * 2 ** failures);
    const delayMs = Math.max(atLeastMs, ofKey, this.#retries.reserve());
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** Failures of the key in a row. */
  numRequeues(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Resets the count of the key's failures. The caller must still call done(). */
  forget(key: K): void {
    this.#failures.delete(key);
  }

  /**
   * Resolves with the next key, or with undefined once the queue is shut down and nothing is queued.
   * The caller must call done() with the key.
   */
  get(): Promise<K | undefined> {
    const key = this.#take();
    if (key !== undefined || this.#isShutDown) return Promise.resolve(key);
    return new Promise((resolve) => this.#consumers.push(resolve));
  }

  /** Ends the work on a key; queues it again if it was added meanwhile. Ignored for a key that is not in work. */
  done(key: K): void {
    const since = this.#processing.get(key);
    if (since === undefined) return;
    this.#processing.delete(key);
    this.#options.metrics?.workDuration((this.#options.clock.now() - since) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
  }

  /** Accepts no more keys; queued keys are still handed out. */
  shutDown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
    for (const release of this.#consumers.splice(0)) release(undefined);
  }

  #enqueue(key: K): void {
    this.#queue.push(key);
    this.#consumers.shift()?.(this.#take());
  }

  #take(): K | undefined {
    const key = this.#queue.shift();
    if (key === undefined) return undefined;
    const now = this.#options.clock.now();
    this.#options.metrics?.queueDuration((now - (this.#dirty.get(key) ?? now)) / 1000);
    this.#dirty.delete(key);
    this.#processing.set(key, now);
    return key;
  }
}

/** First in, first out, in amortised constant time: `Array.shift` moves all other items, at 100,000 keys too. */
class Fifo<T> {
  #in: T[] = [];
  /** The oldest last. */
  #out: T[] = [];

  get length(): number {
    return this.#in.length + this.#out.length;
  }

  push(item: T): void {
    this.#in.push(item);
  }

  /** Removes and returns the oldest item; undefined when empty. */
  shift(): T | undefined {
    if (this.#out.length === 0) [this.#in, this.#out] = [this.#out, this.#in.reverse()];
    return this.#out.pop();
  }
}
