import type { ObjectKey } from '../api/object.ts';
import type { ReconcileResult } from './controller-metrics.ts';

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

/** The outcome of a reconcile that did not settle its object. */
export interface Unsettled {
  readonly result: ReconcileRecord['result'];
  readonly error?: Error;
  readonly retryInMs?: number;
}

export interface ReconcileHistoryOptions {
  /** Wall-clock time in milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** Objects to remember, the latest ones; default 10,000. */
  readonly limit?: number;
}

const maxErrorLength = 1024;
const maxDateMs = 8.64e15;

/**
 * The state of each object that is not settled. An object is forgotten when its reconcile succeeds with an empty
 * result. The reconcile of a deleted object ends like this, too, so the history does not grow with deleted objects.
 */
export class ReconcileHistory {
  readonly #wallClock: () => number;
  readonly #limit: number;
  /** Least recently recorded first. */
  readonly #records = new Map<ObjectKey, ReconcileRecord>();

  constructor({ wallClock, limit = 10_000 }: ReconcileHistoryOptions) {
    this.#wallClock = wallClock;
    this.#limit = limit;
  }

  /** The object's record, or undefined when it is settled. */
  get(key: ObjectKey): ReconcileRecord | undefined {
    return this.#records.get(key);
  }

  /** All records, the latest last. */
  list(): readonly ReconcileRecord[] {
    return [...this.#records.values()];
  }

  record(key: ObjectKey, { result, error, retryInMs }: Unsettled): ReconcileRecord {
    const now = this.#wallClock();
    const record: ReconcileRecord = {
      key,
      result,
      at: timestamp(now),
      attempts: result === 'requeue_after' ? 0 : (this.get(key)?.attempts ?? 0) + 1,
      ...(error && { error: error.message.slice(0, maxErrorLength) }),
      ...(retryInMs !== undefined && { nextTryAt: timestamp(now + retryInMs) }),
    };
    this.#records.delete(key);
    this.#records.set(key, record);
    this.#dropOldest();
    return record;
  }

  forget(key: ObjectKey): void {
    this.#records.delete(key);
  }

  #dropOldest(): void {
    const [oldest] = this.#records.keys();
    if (this.#records.size > this.#limit && oldest !== undefined) this.#records.delete(oldest);
  }
}

/** Bounds the time: a delay may be beyond the range of Date, for which toISOString() throws. */
function timestamp(ms: number): string {
  return new Date(Math.min(ms, maxDateMs)).toISOString();
}
