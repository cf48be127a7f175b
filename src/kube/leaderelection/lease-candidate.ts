import { isDeepStrictEqual } from 'node:util';
import { isConflict } from '../api/api-error.ts';
import { microTime } from '../api/micro-time.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { LeaseLock, LeaseRecord } from './lease.ts';

export interface LeaseCandidateOptions {
  readonly lock: LeaseLock;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  readonly identity: string;
  readonly durationSeconds: number;
}

/** Attempts to release: an earlier renewal that timed out may still be written, and cause a conflict. */
const MAX_RELEASE_TRIES = 3;

/**
 * One candidate for a Lease: single attempts to take, renew and release it, by the rules of client-go
 * (tools/leaderelection/leaderelection.go, tryAcquireOrRenew and release). A method rejects if the attempt failed, with
 * a conflict if another process wrote first.
 */
export class LeaseCandidate {
  readonly #options: LeaseCandidateOptions;
  #seen: LeaseRecord | undefined;
  /** The last state that look() found with another holder, and when it expires by this process's monotonic clock. */
  #observed: LeaseRecord | undefined;
  #expiresAt = Number.NEGATIVE_INFINITY;
  #renewedAt: number | undefined;

  constructor(options: LeaseCandidateOptions) {
    this.#options = options;
  }

  /**
   * When this process last took or renewed the lease, in the clock's milliseconds; undefined while it does not hold it.
   * It is the moment before the request was sent: another process can only see the renewal later, so it waits longer.
   */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /** The holder of the lease when it was last read, expired or not; empty without a holder. */
  get holder(): string {
    return this.#seen?.holder ?? '';
  }

  /**
   * Reads the lease and returns its holder; empty if the lease may be taken. That is so if it has no holder, if this
   * process holds it from an attempt that seemed to fail, or if it was *seen* unchanged for its duration. The times in
   * the Lease, from clocks of other machines, are not used.
   */
  async look(signal: AbortSignal): Promise<string> {
    const { lock, clock, identity } = this.#options;
    const seen = await lock.get(signal);
    this.#seen = seen;
    if (seen === undefined || seen.holder === identity) return '';
    const now = clock.now();
    if (!isDeepStrictEqual(seen, this.#observed)) this.#expiresAt = now + seen.durationSeconds * 1000;
    this.#observed = seen;
    return now >= this.#expiresAt ? '' : seen.holder;
  }

  /** Takes the lease, which the last look() found free. */
  take(signal: AbortSignal): Promise<void> {
    return this.#write(this.#seen, signal);
  }

  /**
   * Renews the lease of this process. It first writes without reading. If that fails, it reads the Lease and tries
   * again: an earlier renewal that timed out may have been written, or a user has edited or deleted the Lease. If
   * another process holds it, nothing is written, and {@link renewedAt} is undefined.
   */
  async renew(signal: AbortSignal): Promise<void> {
    try {
      await this.#write(this.#seen, signal);
      return;
    } catch {
      // The next answer has the same error, or it does not matter.
      signal.throwIfAborted();
    }
    this.#seen = await this.#options.lock.get(signal);
    if (this.#seen && this.#seen.holder !== this.#options.identity) this.#renewedAt = undefined;
    else await this.#write(this.#seen, signal);
  }

  /** Releases the lease, so that others can take it at once. Call it when the work of the term has ended. */
  async release(signal: AbortSignal): Promise<void> {
    const { lock, wallClock, identity } = this.#options;
    this.#renewedAt = undefined;
    for (let attempt = 1; ; attempt++) {
      const current = await lock.get(signal);
      if (current?.holder !== identity) return;
      const now = microTime(wallClock());
      const released = { ...current, holder: '', durationSeconds: 1, acquireTime: now, renewTime: now };
      try {
        await lock.update(released, signal);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === MAX_RELEASE_TRIES) throw error;
      }
    }
  }

  async #write(previous: LeaseRecord | undefined, signal: AbortSignal): Promise<void> {
    const { lock, clock, wallClock, identity, durationSeconds } = this.#options;
    const now = microTime(wallClock());
    const sentAt = clock.now();
    const renewed = previous?.holder === identity;
    const record: LeaseRecord = {
      holder: identity,
      durationSeconds,
      acquireTime: (renewed ? previous.acquireTime : undefined) ?? now,
      renewTime: now,
      transitions: previous ? previous.transitions + (renewed ? 0 : 1) : 0,
    };
    await (previous ? lock.update(record, signal) : lock.create(record, signal));
    this.#seen = record;
    this.#renewedAt = sentAt;
  }
}
