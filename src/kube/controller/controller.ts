import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { isConflict, retryAfterMs } from '../api/api-error.ts';
import type { ObjectKey } from '../api/object.ts';
import type { ControllerMetrics, ReconcileResult } from '../prometheus/index.ts';
import { aborted } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { LruMap } from '../util/lru-map.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { WorkQueue } from '../workqueue/queue.ts';

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

/** Why an object is not settled, and when it is retried. Times are RFC 3339. */
export interface ReconcileRecord {
  readonly key: ObjectKey;
  /** How the last reconcile ended. */
  readonly result: Exclude<ReconcileResult, 'success'>;
  readonly at: string;
  /** Reconciles since the last success (`requeue_after` is a success). */
  readonly attempts: number;
  readonly error?: string;
  /** Absent if only a change of the object starts a reconcile. An event may start it sooner. */
  readonly nextTryAt?: string;
}

export interface ControllerOptions {
  readonly name: string;
  /** Used by this controller alone: run() shuts it down at its end. */
  readonly queue: WorkQueue<ObjectKey>;
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
/** Conflicts in a row that are no reason to look. */
const EXPECTED_CONFLICTS = 3;
/** Objects to remember, the latest ones. */
const MAX_RECORDS = 10_000;
const MAX_ERROR = 1024;
/** Beyond the range of Date, `toISOString()` throws. */
const MAX_DATE_MS = 8.64e15;

/**
 * Takes keys from a queue and reconciles them, with retries (controller-runtime's `internal/controller`). It remembers
 * each object that is not settled, until its reconcile succeeds with an empty result, as that of a deleted object does.
 */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #running = new Set<ObjectKey>();
  readonly #records = new LruMap<ObjectKey, ReconcileRecord>(MAX_RECORDS);
  /** The drain timeout has passed: the results of running reconciles are ignored. */
  #isOver = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
  }

  /** Keys that are being reconciled. */
  running(): readonly ObjectKey[] {
    return [...this.#running];
  }

  /** Objects that are not settled, and why; the latest last. */
  unsettled(): readonly ReconcileRecord[] {
    return Array.from(this.#records.entries(), ([, record]) => record);
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
    const { queue } = this.#options;
    if (requeueAfterMs !== undefined && !(requeueAfterMs > 0))
      return this.#record(key, 'requeue', { retryInMs: queue.addRateLimited(key) }).result;
    queue.forget(key);
    if (requeueAfterMs === undefined) {
      this.#records.delete(key);
      return 'success';
    }
    queue.addAfter(key, requeueAfterMs);
    return this.#record(key, 'requeue_after', { retryInMs: requeueAfterMs }).result;
  }

  #failed(key: ObjectKey, error: Error, signal: AbortSignal): ReconcileResult {
    const { queue } = this.#options;
    if (signal.aborted) {
      // The stop usually caused it, so it is neither a warning nor retried.
      this.#log.info({ key, err: error }, 'reconcile interrupted by the shutdown');
      return 'error';
    }
    if (error instanceof TerminalError) {
      queue.forget(key);
      this.#log.error({ key, err: error }, 'reconcile failed: not retried until something changes');
      return this.#record(key, 'terminal', { error }).result;
    }
    const retryInMs = queue.addRateLimited(key, retryAfterMs(error));
    const { attempts, result } = this.#record(key, 'error', { error, retryInMs });
    // Another writer was faster, which the next attempt sees.
    const level = isConflict(error) && attempts <= EXPECTED_CONFLICTS ? 'debug' : 'warn';
    this.#log[level]({ key, err: error, attempts, retryInMs }, 'reconcile failed');
    return result;
  }

  #record(
    key: ObjectKey,
    result: ReconcileRecord['result'],
    { error, retryInMs }: { readonly error?: Error; readonly retryInMs?: number },
  ): ReconcileRecord {
    const { wallClock = Date.now } = this.#options;
    const timestamp = (laterMs: number) =>
      new Date(Math.min(wallClock() + laterMs, MAX_DATE_MS)).toISOString();
    const record: ReconcileRecord = {
      key,
      result,
      at: timestamp(0),
      attempts: result === 'requeue_after' ? 0 : (this.#records.get(key)?.attempts ?? 0) + 1,
      ...(error && { error: error.message.slice(0, MAX_ERROR) }),
      ...(retryInMs !== undefined && { nextTryAt: timestamp(retryInMs) }),
    };
    this.#records.set(key, record);
    return record;
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
