import { Fifo } from '../util/fifo.ts';
import type { Clock } from './clock.ts';

/** Called for each event of a queue. Durations are in seconds, as in Prometheus. */
export interface QueueMetrics {
  /** A key was added that was not in the queue: `workqueue_adds_total`. */
  added(): void;
  /** A key was handed out, this long after it was added: `workqueue_queue_duration_seconds`. */
  queueDuration(seconds: number): void;
  /** A key was done, this long after it was handed out: `workqueue_work_duration_seconds`. */
  workDuration(seconds: number): void;
  /** A key was added with a delay, after a failure or by request: `workqueue_retries_total`. */
  retried(): void;
}

/** The state of a queue, computed at each scrape, without a timer. */
export interface QueueGauges {
  /** Keys in the queue, including those in work that will be queued again: `workqueue_depth`. */
  readonly depth: number;
  /** Sum of the times that the keys in work have taken so far: `workqueue_unfinished_work_seconds`. */
  readonly unfinishedWorkSeconds: number;
  /** Time that the oldest key in work has taken so far: `workqueue_longest_running_processor_seconds`. */
  readonly longestRunningProcessorSeconds: number;
}

export interface QueueOptions {
  readonly clock: Clock;
  readonly metrics?: QueueMetrics;
}

/**
 * A queue of keys with the semantics of client-go's workqueue (`util/workqueue/queue.go`):
 * - fair: keys are handed out in the order they were added;
 * - stingy: a key added several times before it is handed out is handed out once;
 * - one at a time: a key in work is not handed out again before it is done; if added meanwhile, it is queued then;
 * - it can be shut down, with or without a drain.
 *
 * Keys are compared as in a Map; undefined is not a key.
 */
export class Queue<K> implements QueueGauges {
  protected readonly clock: Clock;
  protected readonly metrics: QueueMetrics | undefined;
  /** Keys to hand out. Each is dirty and not processing. */
  readonly #queue = new Fifo<K>();
  /** Keys that need work, and since when. */
  readonly #dirty = new Map<K, number>();
  /** Keys in work, and since when, oldest first. If a key is dirty too, done() queues it again. */
  readonly #processing = new Map<K, number>();
  /** Waiting consumers in the order of their calls; empty unless the queue is empty. */
  readonly #consumers: ((key: K | undefined) => void)[] = [];
  readonly #drainers: (() => void)[] = [];
  #shuttingDown = false;

  constructor({ clock, metrics }: QueueOptions) {
    this.clock = clock;
    this.metrics = metrics;
  }

  /** Keys that get() would hand out at once. */
  get length(): number {
    return this.#queue.length;
  }

  get shuttingDown(): boolean {
    return this.#shuttingDown;
  }

  get depth(): number {
    return this.#dirty.size;
  }

  get unfinishedWorkSeconds(): number {
    const now = this.clock.now();
    let milliseconds = 0;
    for (const since of this.#processing.values()) milliseconds += now - since;
    return milliseconds / 1000;
  }

  get longestRunningProcessorSeconds(): number {
    const { value: oldest } = this.#processing.values().next();
    return oldest === undefined ? 0 : (this.clock.now() - oldest) / 1000;
  }

  /** Marks the key as needing work. Ignored once the queue is shutting down. */
  add(key: K): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.clock.now());
    this.metrics?.added();
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  /**
   * Resolves with the next key, or with undefined once the queue is shut down and nothing is queued.
   * The caller must call done() with the key.
   */
  get(): Promise<K | undefined> {
    const key = this.#take();
    if (key !== undefined || this.#shuttingDown) return Promise.resolve(key);
    return new Promise((resolve) => this.#consumers.push(resolve));
  }

  /** Ends the work on a key; queues it again if it was added meanwhile. Ignored for a key that is not in work. */
  done(key: K): void {
    const since = this.#processing.get(key);
    if (since === undefined) return;
    this.#processing.delete(key);
    this.metrics?.workDuration((this.clock.now() - since) / 1000);
    if (this.#dirty.has(key)) this.#enqueue(key);
    if (this.#isIdle()) this.#releaseDrainers();
  }

  /** Accepts no more keys; queued keys are still handed out. Ends the wait of every shutDownWithDrain(). */
  shutDown(): void {
    this.#refuseKeys();
    this.#releaseDrainers();
  }

  /** Like shutDown(), and resolves once every key is done. Consumers must keep taking keys until then. */
  shutDownWithDrain(): Promise<void> {
    this.#refuseKeys();
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#drainers.push(resolve));
  }

  #enqueue(key: K): void {
    this.#queue.push(key);
    this.#consumers.shift()?.(this.#take());
  }

  #take(): K | undefined {
    const key = this.#queue.shift();
    if (key === undefined) return undefined;
    const now = this.clock.now();
    this.metrics?.queueDuration((now - (this.#dirty.get(key) ?? now)) / 1000);
    this.#dirty.delete(key);
    this.#processing.set(key, now);
    return key;
  }

  #isIdle(): boolean {
    return this.#processing.size === 0 && this.#queue.length === 0;
  }

  #refuseKeys(): void {
    this.#shuttingDown = true;
    for (const release of this.#consumers.splice(0)) release(undefined);
  }

  #releaseDrainers(): void {
    for (const release of this.#drainers.splice(0)) release();
  }
}
