import { isConflict, retryAfterMs } from '../api/api-error.ts';
import type { ObjectKey } from '../api/object.ts';
import type { Logger } from '../util/log.ts';
import { LruMap } from '../util/lru-map.ts';
import type { RateLimitingQueue } from '../workqueue/rate-limiting-queue.ts';

/** How a reconcile ended: the values of controller-runtime's label `result`, and `terminal`. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after' | 'terminal';

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

/**
 * Thrown by a reconcile when a retry cannot help until something changes: it is logged once and not retried
 * (controller-runtime's `reconcile.TerminalError`).
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** Conflicts in a row that are no reason to look. */
const EXPECTED_CONFLICTS = 3;
/** Objects to remember, the latest ones. */
const MAX_RECORDS = 10_000;
const MAX_ERROR = 1024;
/** Beyond the range of Date, `toISOString()` throws. */
const MAX_DATE_MS = 8.64e15;

export interface FollowUpOptions {
  readonly queue: RateLimitingQueue<ObjectKey>;
  readonly log: Logger;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
}

/**
 * Handles the result of a reconcile: requeues the key, logs, and remembers each object that is not settled. An object
 * is forgotten when its reconcile succeeds with an empty result, as that of a deleted object does.
 */
export class FollowUp {
  readonly #options: FollowUpOptions;
  readonly #records = new LruMap<ObjectKey, ReconcileRecord>(MAX_RECORDS);

  constructor(options: FollowUpOptions) {
    this.#options = options;
  }

  /** Objects that are not settled, the latest last. */
  unsettled(): readonly ReconcileRecord[] {
    return Array.from(this.#records.entries(), ([, record]) => record);
  }

  succeeded(key: ObjectKey, requeueAfterMs: number | undefined): ReconcileResult {
    const { queue } = this.#options;
    if (requeueAfterMs === undefined) {
      queue.forget(key);
      this.#records.delete(key);
      return 'success';
    }
    if (requeueAfterMs > 0) {
      queue.forget(key);
      queue.addAfter(key, requeueAfterMs);
      return this.#record(key, 'requeue_after', { retryInMs: requeueAfterMs }).result;
    }
    return this.#record(key, 'requeue', { retryInMs: queue.addRateLimited(key) }).result;
  }

  failed(key: ObjectKey, error: Error): ReconcileResult {
    const { queue, log } = this.#options;
    if (error instanceof TerminalError) {
      queue.forget(key);
      log.error({ key, err: error }, 'reconcile failed: not retried until something changes');
      return this.#record(key, 'terminal', { error }).result;
    }
    const retryInMs = queue.addRateLimited(key, retryAfterMs(error));
    const { attempts, result } = this.#record(key, 'error', { error, retryInMs });
    // Another writer was faster, which the next attempt sees.
    const level = isConflict(error) && attempts <= EXPECTED_CONFLICTS ? 'debug' : 'warn';
    log[level]({ key, err: error, attempts, retryInMs }, 'reconcile failed');
    return result;
  }

  /** Logs a failure while the controller stops. The stop usually caused it, so it is neither a warning nor retried. */
  interrupted(key: ObjectKey, error: Error): ReconcileResult {
    this.#options.log.info({ key, err: error }, 'reconcile interrupted by the shutdown');
    return 'error';
  }

  #record(
    key: ObjectKey,
    result: ReconcileRecord['result'],
    { error, retryInMs }: { readonly error?: Error; readonly retryInMs?: number },
  ): ReconcileRecord {
    const now = this.#options.wallClock();
    const record: ReconcileRecord = {
      key,
      result,
      at: timestamp(now),
      attempts: result === 'requeue_after' ? 0 : (this.#records.get(key)?.attempts ?? 0) + 1,
      ...(error && { error: error.message.slice(0, MAX_ERROR) }),
      ...(retryInMs !== undefined && { nextTryAt: timestamp(now + retryInMs) }),
    };
    this.#records.set(key, record);
    return record;
  }
}

function timestamp(ms: number): string {
  return new Date(Math.min(ms, MAX_DATE_MS)).toISOString();
}
