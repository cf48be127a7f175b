import type { LeaseRecord } from './lease-record.ts';

/**
 * What a candidate has seen of another's lease, and since when by its own monotonic clock. A lease is over when it was
 * *seen* unchanged for its duration: the record's times, and so the clocks of other machines, decide nothing.
 */
export class ObservedLease {
  #seen = '';
  #expiresAt = Number.NEGATIVE_INFINITY;

  /** Takes in the record as it was at `now`, in milliseconds. The term starts anew only when it has changed. */
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
