import type { LeaseRecord } from './lease-record.ts';

/**
 * The last state of a lease that a candidate has seen, and since when by its own monotonic clock. A lease expires when
 * it was *seen* unchanged for its duration. The times in the record, from clocks of other machines, are not used.
 */
export class ObservedLease {
  #seen = '';
  #expiresAt = Number.NEGATIVE_INFINITY;

  /** Stores the record as of `now`, in milliseconds. The duration starts again only if the record has changed. */
  observe(record: LeaseRecord, now: number): void {
    const seen = JSON.stringify(record);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#expiresAt = now + record.durationSeconds * 1000;
  }

  hasExpired(now: number): boolean {
    return now >= this.#expiresAt;
  }
}
