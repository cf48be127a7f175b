import type { ObjectKey } from '../api/object.ts';
import type { ReconcileResult } from './controller-metrics.ts';

/** Why an object is not settled, and when it is tried next. Times are RFC 3339. */
export interface ReconcileRecord {
  readonly key: ObjectKey;
  /** How the last reconcile ended. */
  readonly result: Exclude<ReconcileResult, 'success'>;
  readonly at: string;
  /** Reconciles since one last ended well (`requeue_after` is well). */
  readonly attempts: number;
  readonly error?: string;
  /** Absent when nothing but a change of the object brings it back. An event may bring it back sooner. */
  readonly nextTryAt?: string;
}

/** What a reconcile that did not settle its object came to. */
export interface Unsettled {
  readonly result: ReconcileRecord['result'];
  readonly error?: Error;
  readonly retryInMs?: number;
}

export interface ReconcileHistoryOptions {
  /** The time of day in milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  /** Objects to remember, the latest ones; 10,000 unless given. */
  readonly limit?: number;
}

const maxErrorLength = 1024;
const maxDateMs = 8.64e15;

/**
 * What is known of each object that is not settled. An object whose reconcile succeeds and asks for nothing more
 * is forgotten; that of a deleted object ends so too, so the history does not grow with what is gone.
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

/** A delay may be longer than a Date can tell, and toISOString() throws on such. */
function timestamp(ms: number): string {
  return new Date(Math.min(ms, maxDateMs)).toISOString();
}
