import { isConflict } from '../api/api-error.ts';
import { microTime } from '../api/micro-time.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { LeaseLock } from './lease-lock.ts';
import type { LeaseRecord } from './lease-record.ts';
import { ObservedLease } from './observed-lease.ts';

export interface LeaseClaimOptions {
  readonly lock: LeaseLock;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  readonly identity: string;
  readonly durationSeconds: number;
}

/** Writes of our own that a release may still meet: one that was given up on and landed all the same. */
const MAX_RELEASE_TRIES = 3;

/**
 * One candidate's claim to a Lease: single tries to take it, to renew it and to give it up, by the rules of client-go
 * (tools/leaderelection/leaderelection.go, tryAcquireOrRenew and release). A method rejects where the try did not get
 * through, with a conflict where somebody else was quicker.
 */
export class LeaseCandidate {
  readonly #options: LeaseClaimOptions;
  readonly #observed = new ObservedLease();
  #seen: LeaseRecord | undefined;
  #renewedAt: number | undefined;

  constructor(options: LeaseClaimOptions) {
    this.#options = options;
  }

  /**
   * When the claim was last made good, in the clock's milliseconds; undefined while it is not ours. The moment before
   * the request went out: nobody else can have seen it earlier, so by no clock does the term end before ours does.
   */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /** Who held the lease when it was last seen, run out or not; empty for nobody. */
  get holder(): string {
    return this.#seen?.holder ?? '';
  }

  /**
   * Who holds the lease now; empty where it may be taken: nobody holds it, it is ours from a try that seemed to fail,
   * or its holder was not seen to renew it for its duration.
   */
  async look(signal: AbortSignal): Promise<string> {
    const { lock, clock, identity } = this.#options;
    this.#seen = await lock.get(signal);
    if (this.#seen === undefined || this.#seen.holder === identity) return '';
    this.#observed.observe(this.#seen, clock.now());
    return this.#observed.hasExpired(clock.now()) ? '' : this.#seen.holder;
  }

  /** Takes the lease, which was free at the last look. */
  take(signal: AbortSignal): Promise<void> {
    return this.#write(this.#seen, signal);
  }

  /**
   * Renews a lease that is ours: at once as it was last seen, and where that fails as it is now, because a renewal that
   * was given up on may have landed, or the Lease been edited or deleted. Another's is left alone: {@link renewedAt}
   * is undefined then.
   */
  async renew(signal: AbortSignal): Promise<void> {
    try {
      await this.#write(this.#seen, signal);
      return;
    } catch {
      // What was wrong shows in the next answer, or does not matter.
      signal.throwIfAborted();
    }
    this.#seen = await this.#options.lock.get(signal);
    if (this.#seen && this.#seen.holder !== this.#options.identity) this.#renewedAt = undefined;
    else await this.#write(this.#seen, signal);
  }

  /** Makes way for others at once. Only for one whose work under the lease has ended. */
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
    const askedAt = clock.now();
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
    this.#renewedAt = askedAt;
  }
}
