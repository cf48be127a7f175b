import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { ObjectKey } from '../api/object.ts';
import { aborted } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { RateLimitingQueue } from '../workqueue/rate-limiting-queue.ts';
import { FollowUp, type ReconcileRecord, type ReconcileResult } from './follow-up.ts';

/** The result of a reconcile. Without fields: done until something changes. */
export interface Result {
  /** Reconcile again after this time. If not above 0: as soon as the rate limiter allows. */
  readonly requeueAfterMs?: number;
}

/**
 * Brings the object of the key to its desired state, whatever the event was. It reads the object itself. For a deleted
 * object it cleans up, and returns an empty result. An error is retried with back-off, except a TerminalError. The
 * signal aborts when the controller stops: no wait should outlast it.
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<Result>;

/** Called by a controller for the `controller_runtime_*` metrics. */
export interface ControllerMetrics {
  /** The number of workers, reported when they start: `max_concurrent_reconciles`. */
  maxConcurrentReconciles(workers: number): void;
  /** The number of workers that are reconciling: `active_workers`. */
  activeWorkers(workers: number): void;
  /** A reconcile ended: `reconcile_total` by result, `reconcile_time_seconds`, and `reconcile_errors_total`. */
  reconciled(result: ReconcileResult, seconds: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  /** Used by this controller alone: run() shuts it down at its end. */
  readonly queue: RateLimitingQueue<ObjectKey>;
  readonly reconcile: Reconcile;
  /** How many keys are reconciled at once; never the same key twice. */
  readonly workers: number;
  readonly log: Logger;
  readonly clock: Clock;
  /** Milliseconds since 1970; default Date.now. */
  readonly wallClock?: () => number;
  readonly metrics?: ControllerMetrics;
}

/** How long run() waits for running reconciles after the signal has aborted. */
const DRAIN_TIMEOUT_MS = 30_000;

/** Takes keys from a queue and reconciles them, with retries (controller-runtime's `internal/controller`). */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #followUp: FollowUp;
  readonly #running = new Set<ObjectKey>();
  /** The drain timeout has passed: the results of running reconciles are ignored. */
  #isOver = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
    this.#followUp = new FollowUp({ wallClock: Date.now, ...options, log: this.#log });
  }

  /** Keys that are being reconciled. */
  running(): readonly ObjectKey[] {
    return [...this.#running];
  }

  /** Objects that are not settled, and why. */
  unsettled(): readonly ReconcileRecord[] {
    return this.#followUp.unsettled();
  }

  /**
   * Reconciles until the signal aborts. Then it starts no more reconciles, and resolves when the running ones have
   * ended or at the drain timeout. Call it once, when the caches that the reconcile reads have synced.
   * @throws Error if the queue is shut down before the signal aborts.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, metrics } = this.#options;
    metrics?.maxConcurrentReconciles(this.#options.workers);
    const workers = Promise.all(Array.from({ length: this.#options.workers }, () => this.#work(signal)));
    try {
      await Promise.race([workers, aborted(signal)]);
    } finally {
      queue.shutDown();
    }
    if (!signal.aborted) throw new Error(`controller ${this.name} has stopped: its queue was shut down`);
    await this.#drain(workers);
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this.#options;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        // Queued keys are not lost: the next leader lists all objects and starts with them.
        if (signal.aborted) return;
        await this.#process(key, signal);
      } finally {
        queue.done(key);
      }
      // A resync is thousands of reconciles that have nothing to do and never wait. Without a turn in between, they
      // would block the event loop, and the webhook in this process would not answer until the last one has ended.
      await eventLoopTurn();
    }
  }

  async #process(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#options;
    const started = clock.now();
    this.#running.add(key);
    metrics?.activeWorkers(this.#running.size);
    const result = await this.#reconcile(key, signal);
    this.#running.delete(key);
    if (result === undefined) return;
    metrics?.activeWorkers(this.#running.size);
    const milliseconds = clock.now() - started;
    metrics?.reconciled(result, milliseconds / 1000);
    this.#log.debug({ key, result, ms: Math.round(milliseconds) }, 'reconciled');
  }

  /** Undefined if it ended after the drain timeout: another controller of the same name may run by then. */
  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    let requeueAfterMs: number | undefined;
    try {
      ({ requeueAfterMs } = await this.#options.reconcile(key, signal));
      if (this.#isOver) return undefined;
    } catch (thrown) {
      if (this.#isOver) return undefined;
      const error = toError(thrown);
      return signal.aborted ? this.#followUp.interrupted(key, error) : this.#followUp.failed(key, error);
    }
    return this.#followUp.succeeded(key, requeueAfterMs);
  }

  async #drain(workers: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = this.#options.clock.setTimer(DRAIN_TIMEOUT_MS, resolve);
      workers.finally(() => timer.cancel()).then(() => resolve(), reject);
    });
    this.#isOver = true;
    if (this.#running.size > 0) {
      const running = this.running();
      this.#log.warn({ running }, 'gave up on running reconciles at the drain timeout');
    }
  }
}
