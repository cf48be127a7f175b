import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { isConflict, retryAfterMs } from '../api/api-error.ts';
import type { KubeObject, ObjectKey } from '../api/object.ts';
import type { EventRecorder } from '../events/events.ts';
import type { ControllerMetrics, QueueMetrics, ReconcileResult } from '../prometheus/index.ts';
import { toError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Task } from '../util/task-group.ts';
import { aborted } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type QueueOptions, WorkQueue } from '../workqueue/queue.ts';
import { refusalIn, tellRefusal } from './refusals.ts';

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
  /** How many keys are reconciled at once; never the same key twice. */
  readonly workers: number;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: ControllerMetrics;
  readonly queueMetrics: QueueMetrics;
  readonly events: EventRecorder;
}

/** The start and the end of a controller's term. */
export interface TermOptions {
  /** The first keys, since a standby drops all events. */
  readonly keys: () => Iterable<ObjectKey>;
  /** Resolves when the data that a reconcile needs is available. */
  readonly after?: Task;
  /** Called when the last reconcile of a term has ended. */
  readonly ended?: () => void;
  /** The object that gets an Event when the API server refuses a request of the reconcile of a key. */
  readonly waiting?: (key: ObjectKey) => KubeObject | undefined;
}

interface Work extends TermOptions {
  readonly reconcile: Reconcile;
}

/** The state of one term: the next term does not use it. */
interface Term {
  readonly work: Work;
  readonly queue: WorkQueue<ObjectKey>;
  readonly running: Set<ObjectKey>;
  /** When a heartbeat or a reconcile last ended. */
  activeAt: number;
}

/** How long a term waits for running reconciles after its signal has aborted. */
const DRAIN_TIMEOUT_MS = 30_000;
/** Conflicts in a row that are no reason to look. */
const EXPECTED_CONFLICTS = 3;
/** A key that passes through each queue. It is not an object's key: names do not have such characters. */
const HEARTBEAT: ObjectKey = '<heartbeat>';
const HEARTBEAT_MS = 30_000;
/** Longer than any reconcile takes: a request to the API server times out after 30 s, and fails its reconcile. */
const OVERDUE_MS = 300_000;

/**
 * Takes keys from a queue and reconciles them, with retries (controller-runtime's `internal/controller`). It works in
 * terms, each with a new queue: that of the leader while this process leads, that of each replica always. In a term, a
 * heartbeat passes through its queue in the same way as events: a controller without heartbeats and without reconciles
 * is stuck.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  #work: Work | undefined;
  #term: Term | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#log = options.log.child({ controller: options.name });
  }

  /** For event handlers. A standby drops the keys: a new leader starts with all objects. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#term?.queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#term?.queue.addAfter(key, delayMs),
  };

  /** Sets the reconcile. A controller without one does nothing. */
  reconcile(reconcile: Reconcile, options: TermOptions): void {
    this.#work = { ...options, reconcile };
  }

  /**
   * Runs one term: reconciles the first keys, then events, until the signal aborts. Then it starts no more reconciles,
   * and resolves when the running ones have ended or at the drain timeout. Called by the manager.
   * @throws Error if the previous term has not ended.
   */
  readonly run: Task = async (signal) => {
    const { name, clock, metrics, queueMetrics, workers: count, maxRetryMs } = this.#options;
    const work = this.#work;
    if (work?.after) await work.after(signal);
    if (!work || signal.aborted) return;
    if (this.#term) throw new Error(`controller ${name}: the previous term has not ended`);
    const queue = new WorkQueue<ObjectKey>({ clock, maxRetryMs, metrics: queueMetrics });
    const term: Term = { work, queue, running: new Set(), activeAt: clock.now() };
    this.#term = term;
    metrics.termBegan(count);
    const beat = () => {
      heart = clock.setTimer(HEARTBEAT_MS, beat);
      this.queue.add(HEARTBEAT);
    };
    let heart = clock.setTimer(HEARTBEAT_MS, beat);
    try {
      addAll(queue, work.keys);
      const workers = Promise.all(Array.from({ length: count }, () => this.#runWorker(term, signal)));
      await Promise.race([workers, aborted(signal)]).finally(() => queue.shutDown());
      await this.#drain(term, workers);
    } finally {
      heart.cancel();
      this.#term = undefined;
      metrics.termEnded();
      work.ended?.();
    }
  };

  /** The problem that a restart would fix; undefined if the controller is not stuck, and outside of terms. */
  problem(): string | undefined {
    const { name, clock } = this.#options;
    const silentMs = this.#term ? clock.now() - this.#term.activeAt : 0;
    return silentMs > OVERDUE_MS
      ? `controller ${name} is stuck: no reconcile and no heartbeat for ${Math.round(silentMs / 1000)} s`
      : undefined;
  }

  async #runWorker(term: Term, signal: AbortSignal): Promise<void> {
    const { queue } = term;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        // Queued keys are not lost: the next leader lists all objects and starts with them.
        if (signal.aborted) return;
        await this.#process(term, key, signal);
      } finally {
        queue.done(key);
      }
      // A resync is thousands of reconciles that have nothing to do and never wait. Without a turn in between, they
      // would block the event loop, and the webhook in this process would not answer until the last one has ended.
      await eventLoopTurn();
    }
  }

  async #process(term: Term, key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#options;
    const { queue, running } = term;
    const started = clock.now();
    running.add(key);
    metrics.activeWorkers(running.size);
    let outcome: Result | undefined;
    let error: Error | undefined;
    try {
      outcome = await this.#reconcile(term, key, signal);
    } catch (thrown) {
      error = toError(thrown);
    }
    term.activeAt = clock.now();
    running.delete(key);
    // The drain timeout has passed. Another controller of the same name may run by now.
    if (this.#term !== term) return;
    metrics.activeWorkers(running.size);
    const milliseconds = clock.now() - started;
    const result = error
      ? this.#failed(queue, key, error, signal)
      : succeeded(queue, key, outcome?.requeueAfterMs);
    metrics.reconciled(result, milliseconds / 1000);
    this.#log.debug({ key, result, ms: Math.round(milliseconds) }, 'reconciled');
  }

  async #reconcile({ work }: Term, key: ObjectKey, signal: AbortSignal): Promise<Result> {
    const { events, metrics } = this.#options;
    if (key === HEARTBEAT) {
      metrics.heartbeat();
      return {};
    }
    try {
      return await work.reconcile(key, signal);
    } catch (error) {
      const refusal = refusalIn(error);
      const object = refusal && work.waiting?.(key);
      if (object) tellRefusal(events, object, refusal);
      throw error;
    } finally {
      metrics.reconcileEnded();
    }
  }

  #failed(queue: WorkQueue<ObjectKey>, key: ObjectKey, error: Error, signal: AbortSignal): ReconcileResult {
    if (signal.aborted) {
      // The stop usually caused it, so it is neither a warning nor retried.
      this.#log.info({ key, err: error }, 'reconcile interrupted by the shutdown');
      return 'error';
    }
    if (error instanceof TerminalError) {
      queue.forget(key);
      this.#log.error({ key, err: error }, 'reconcile failed: not retried until something changes');
      return 'terminal';
    }
    const retryInMs = queue.addRateLimited(key, retryAfterMs(error));
    const attempts = queue.numRequeues(key);
    // Another writer was faster, which the next attempt sees.
    const level = isConflict(error) && attempts <= EXPECTED_CONFLICTS ? 'debug' : 'warn';
    this.#log[level]({ key, err: error, attempts, retryInMs }, 'reconcile failed');
    return 'error';
  }

  async #drain({ running }: Term, workers: Promise<unknown>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = this.#options.clock.setTimer(DRAIN_TIMEOUT_MS, resolve);
      workers.finally(() => timer.cancel()).then(() => resolve(), reject);
    });
    if (running.size > 0)
      this.#log.warn({ running: [...running] }, 'gave up on reconciles still running at the drain timeout');
  }
}

function succeeded(
  queue: WorkQueue<ObjectKey>,
  key: ObjectKey,
  requeueAfterMs: number | undefined,
): ReconcileResult {
  if (requeueAfterMs !== undefined && !(requeueAfterMs > 0)) {
    queue.addRateLimited(key);
    return 'requeue';
  }
  queue.forget(key);
  if (requeueAfterMs === undefined) return 'success';
  queue.addAfter(key, requeueAfterMs);
  return 'requeue_after';
}

/** A function of its own: an async function holds what it has touched until it ends, which is the end of the term. */
function addAll(queue: WorkQueue<ObjectKey>, keys: () => Iterable<ObjectKey>): void {
  for (const key of keys()) queue.add(key);
}
