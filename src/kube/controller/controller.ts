import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { ObjectKey } from '../api/object.ts';
import { aborted } from '../util/linked-abort.ts';
import type { Logger } from '../util/log.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { RateLimitingQueue } from '../workqueue/rate-limiting-queue.ts';
import type { ControllerMetrics, ReconcileResult } from './controller-metrics.ts';
import { FollowUp } from './follow-up.ts';
import type { ReconcileHistory, ReconcileRecord } from './reconcile-history.ts';

/** What a reconcile asks for. Nothing: done until something changes. */
export interface Result {
  /** Come back after so many milliseconds. Not above 0: as soon as the rate limiter allows. */
  readonly requeueAfterMs?: number;
}

/**
 * Drives the object of the key to its desired state, whatever the event was. It reads the object itself; one
 * that is gone is cleaned up after, and ends with nothing asked for. What it throws is retried with back-off, a
 * TerminalError is not. The signal aborts when the controller stops: no wait should outlast it.
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<Result>;

export interface ControllerOptions {
  readonly name: string;
  /** The controller's alone: it is shut down when run() ends. */
  readonly queue: RateLimitingQueue<ObjectKey>;
  readonly reconcile: Reconcile;
  /** How many keys may be in work at once; never the same key twice. */
  readonly workers: number;
  readonly history: ReconcileHistory;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics?: ControllerMetrics;
  /** How long run() waits, once told to stop, for running reconciles: 30 s unless given. */
  readonly drainTimeoutMs?: number;
}

/** Takes keys from a queue and reconciles them, with retries (controller-runtime's `internal/controller`). */
export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #followUp: FollowUp;
  readonly #running = new Set<ObjectKey>();
  /** The drain timeout has passed: what still runs belongs to nothing any more. */
  #isOver = false;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
    this.#followUp = new FollowUp({ ...options, log: this.#log });
  }

  /** Keys being reconciled just now. */
  running(): readonly ObjectKey[] {
    return [...this.#running];
  }

  /** Objects that are not settled, and why. */
  history(): readonly ReconcileRecord[] {
    return this.#options.history.list();
  }

  /**
   * Works until the signal aborts, then starts no more reconciles and resolves when the running ones have ended,
   * or at the drain timeout. Call it once, when the caches that the reconcile reads have synced.
   * @throws Error when the queue is shut down although the signal has not aborted.
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
        // What is queued at the end is not lost: who comes next lists all objects and starts with them.
        if (signal.aborted) return;
        await this.#process(key, signal);
      } finally {
        queue.done(key);
      }
      // A resync is thousands of reconciles that find nothing to do and wait for nothing. Without a turn in between
      // they would run as one, and the webhook in this process would answer nobody until the last one is over.
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

  /** Undefined where it ended too late to matter: another controller of the same name may run by then. */
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
    const { clock, drainTimeoutMs = 30_000 } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const timer = clock.setTimer(drainTimeoutMs, resolve);
      workers.finally(() => timer.cancel()).then(() => resolve(), reject);
    });
    this.#isOver = true;
    if (this.#running.size > 0) {
      this.#log.warn(
        { running: this.running(), drainTimeoutMs },
        'reconciles are still running after the drain timeout',
      );
    }
  }
}
