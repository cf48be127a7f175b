import { isConflict, retryAfterMs } from '../api/api-error.ts';
import type { ObjectKey } from '../api/object.ts';
import type { Logger } from '../util/log.ts';
import type { RateLimitingQueue } from '../workqueue/rate-limiting-queue.ts';
import type { ReconcileResult } from './controller-metrics.ts';
import type { ReconcileHistory } from './reconcile-history.ts';
import { TerminalError } from './terminal-error.ts';

/** Conflicts in a row that are no reason to look. */
const EXPECTED_CONFLICTS = 3;

export interface FollowUpOptions {
  readonly queue: RateLimitingQueue<ObjectKey>;
  readonly history: ReconcileHistory;
  readonly log: Logger;
}

/** Handles the result of a reconcile: requeues the key, updates the history, and logs. */
export class FollowUp {
  readonly #queue: RateLimitingQueue<ObjectKey>;
  readonly #history: ReconcileHistory;
  readonly #log: Logger;

  constructor({ queue, history, log }: FollowUpOptions) {
    this.#queue = queue;
    this.#history = history;
    this.#log = log;
  }

  succeeded(key: ObjectKey, requeueAfterMs: number | undefined): ReconcileResult {
    if (requeueAfterMs === undefined) {
      this.#queue.forget(key);
      this.#history.forget(key);
      return 'success';
    }
    if (requeueAfterMs > 0) {
      this.#queue.forget(key);
      this.#queue.addAfter(key, requeueAfterMs);
      return this.#history.record(key, { result: 'requeue_after', retryInMs: requeueAfterMs }).result;
    }
    return this.#history.record(key, { result: 'requeue', retryInMs: this.#queue.addRateLimited(key) })
      .result;
  }

  failed(key: ObjectKey, error: Error): ReconcileResult {
    if (error instanceof TerminalError) {
      this.#queue.forget(key);
      this.#log.error({ key, err: error }, 'reconcile failed: not retried until something changes');
      return this.#history.record(key, { result: 'terminal', error }).result;
    }
    const retryInMs = this.#queue.addRateLimited(key, retryAfterMs(error));
    const { attempts, result } = this.#history.record(key, { result: 'error', error, retryInMs });
    // Another writer was faster, which the next attempt sees.
    const level = isConflict(error) && attempts <= EXPECTED_CONFLICTS ? 'debug' : 'warn';
    this.#log[level]({ key, err: error, attempts, retryInMs }, 'reconcile failed');
    return result;
  }

  /** Logs a failure while the controller stops. The stop usually caused it, so it is neither a warning nor retried. */
  interrupted(key: ObjectKey, error: Error): ReconcileResult {
    this.#log.info({ key, err: error }, 'reconcile interrupted by the shutdown');
    return 'error';
  }
}
