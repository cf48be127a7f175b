import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { isConflict, retryAfterMs } from '../api/api-error.ts';
import type { ObjectKey } from '../api/object.ts';
import type { ControllerMetrics, QueueMetrics, ReconcileResult } from '../prometheus/index.ts';
import { aborted } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type QueueOptions, WorkQueue } from '../workqueue/queue.ts';

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

/**
 * Thrown by a reconcile when a retry cannot help until something changes: it is logged once and not retried
 * (controller-runtime's `reconcile.TerminalError`).
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

export interface ControllerOptions extends Pick<QueueOptions, 'maxRetryMs'> {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** How many keys are reconciled at once; never the same key twice. */
  readonly workers: number;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics?: ControllerMetrics;
  readonly queueMetrics?: QueueMetrics;
}

/** How long run() waits for running reconciles after the signal has aborted. */
const DRAIN_TIMEOUT_MS = 30_000;
/** Conflicts in a row that are no reason to look. */
const EXPECTED_CONFLICTS = 3;

/** Takes keys from a queue and reconciles them, with retries (controller-runtime's `internal/controller`). */
export class Controller {
  /** The keys to reconcile. run() shuts it down at its end. */
  readonly queue: WorkQueue<ObjectKey>;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #running = new Set<ObjectKey>();
  /** Failures in a row. */
  readonly #failures = new Map<ObjectKey, number>();
  /** The drain timeout has passed: the results of running reconciles are ignored. */
  #isOver = false;

  constructor(options: ControllerOptions) {
    const { clock, name, log, queueMetrics: metrics, maxRetryMs } = options;
    this.queue = new WorkQueue<ObjectKey>({ clock, maxRetryMs, metrics });
    this.#options = options;
    this.#log = log.child({ controller: name });
  }

  /** Keys that are being reconciled. */
  running(): readonly ObjectKey[] {
    return [...this.#running];
  }

  /**
   * Reconciles until the signal aborts. Then it starts no more reconciles, and resolves when the running ones have
   * ended or at the drain timeout. Call it once, when the caches that the reconcile reads have synced.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { metrics, workers: count } = this.#options;
    metrics?.maxConcurrentReconciles(count);
    const workers = Promise.all(Array.from({ length: count }, () => this.#work(signal)));
    try {
      await Promise.race([workers, aborted(signal)]);
    } finally {
      this.queue.shutDown();
    }
    await this.#drain(workers);
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this;
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
    const { clock, metrics, reconcile } = this.#options;
    const started = clock.now();
    this.#running.add(key);
    metrics?.activeWorkers(this.#running.size);
    let outcome: Result | undefined;
    let error: Error | undefined;
    try {
      outcome = await reconcile(key, signal);
    } catch (thrown) {
      error = toError(thrown);
    }
    this.#running.delete(key);
    // Another controller of the same name may run by now.
    if (this.#isOver) return;
    metrics?.activeWorkers(this.#running.size);
    const milliseconds = clock.now() - started;
    const result = error ? this.#failed(key, error, signal) : this.#succeeded(key, outcome?.requeueAfterMs);
    metrics?.reconciled(result, milliseconds / 1000);
    this.#log.debug({ key, result, ms: Math.round(milliseconds) }, 'reconciled');
  }

  #succeeded(key: ObjectKey, requeueAfterMs: number | undefined): ReconcileResult {
    const { queue } = this;
    if (requeueAfterMs !== undefined && !(requeueAfterMs > 0)) {
      queue.addRateLimited(key);
      return 'requeue';
    }
    this.#forget(key);
    if (requeueAfterMs === undefined) return 'success';
    queue.addAfter(key, requeueAfterMs);
    return 'requeue_after';
  }

  #failed(key: ObjectKey, error: Error, signal: AbortSignal): ReconcileResult {
    const { queue } = this;
    if (signal.aborted) {
      // The stop usually caused it, so it is neither a warning nor retried.
      this.#log.info({ key, err: error }, 'reconcile interrupted by the shutdown');
      return 'error';
    }
    if (error instanceof TerminalError) {
      this.#forget(key);
      this.#log.error({ key, err: error }, 'reconcile failed: not retried until something changes');
      return 'terminal';
    }
    const retryInMs = queue.addRateLimited(key, retryAfterMs(error));
    const attempts = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, attempts);
    // Another writer was faster, which the next attempt sees.
    const level = isConflict(error) && attempts <= EXPECTED_CONFLICTS ? 'debug' : 'warn';
    this.#log[level]({ key, err: error, attempts, retryInMs }, 'reconcile failed');
    return 'error';
  }

  #forget(key: ObjectKey): void {
    this.queue.forget(key);
    this.#failures.delete(key);
  }

  async #drain(workers: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = this.#options.clock.setTimer(DRAIN_TIMEOUT_MS, resolve);
      workers.finally(() => timer.cancel()).then(() => resolve(), reject);
    });
    this.#isOver = true;
    if (this.#running.size > 0) {
      const running = this.running();
      this.#log.warn({ running }, 'gave up on reconciles still running at the drain timeout');
    }
  }
}
