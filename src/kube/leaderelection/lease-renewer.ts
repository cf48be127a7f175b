import { isAlreadyExists, isConflict } from '../api/api-error.ts';
import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import { within } from '../util/within.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type ElectionTiming, JITTER_FACTOR } from './election-timing.ts';
import type { LeaseCandidate } from './lease-candidate.ts';

export interface LeaseRenewerOptions {
  readonly candidate: LeaseCandidate;
  readonly timing: ElectionTiming;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Acquires a lease and renews it: retries failures within the durations of the election. */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  /**
   * Limit of one step: half the deadline, as in controller-runtime's client, so that there is time for a second one.
   */
  readonly #stepMs: number;

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
    this.#stepMs = options.timing.renewDeadlineMs / 2;
  }

  /** Resolves with true once this process holds the lease, or with false if the signal aborts first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { candidate, clock, random, timing, log } = this.#options;
    for (let known = ''; !signal.aborted; ) {
      const leader = await this.#step((bounded) => candidate.look(bounded), this.#stepMs, signal);
      if (leader === '' && (await this.#take(signal))) return true;
      if (leader && leader !== known) {
        known = leader;
        log.info({ leader }, 'waiting for the lease');
      }
      // Rejects only when the signal aborts, which the loop checks.
      await sleep(clock, timing.retryPeriodMs * (1 + JITTER_FACTOR * random()), signal).catch(
        () => undefined,
      );
    }
    return false;
  }

  /** Resolves with false when the lease is lost, or with true if `ended` aborts first. */
  async renewUntil(ended: AbortSignal): Promise<boolean> {
    const { candidate, clock, timing, log } = this.#options;
    for (let triedAt = clock.now(); ; ) {
      const pauseMs = Math.min(triedAt + timing.retryPeriodMs - clock.now(), this.leftMs());
      await sleep(clock, Math.max(0, pauseMs), ended).catch(() => undefined);
      if (ended.aborted) return true;
      const leftMs = this.leftMs();
      if (leftMs <= 0) {
        log.error('lost the lease: not renewed within the renew deadline');
        return false;
      }
      triedAt = clock.now();
      await this.#step((bounded) => candidate.renew(bounded), Math.min(this.#stepMs, leftMs), ended);
      if (candidate.renewedAt === undefined) {
        log.error({ leader: candidate.holder }, 'lost the lease: another process holds it');
        return false;
      }
    }
  }

  /** Tries to release the lease. If that fails, others wait until it expires. */
  async release(): Promise<void> {
    const { candidate, clock, log } = this.#options;
    try {
      await within(clock, this.#stepMs, undefined, (bounded) => candidate.release(bounded));
      log.info('released the lease');
    } catch (err) {
      log.warn({ err }, 'cannot release the lease: others wait until it expires');
    }
  }

  /** Milliseconds until the renew deadline; 0 if it has passed, or if this process does not hold the lease. */
  leftMs(): number {
    const { candidate, clock, timing } = this.#options;
    const { renewedAt } = candidate;
    return renewedAt === undefined ? 0 : Math.max(0, renewedAt + timing.renewDeadlineMs - clock.now());
  }

  /** The signal does not abort a write: if it takes effect unnoticed, the others would wait for this process. */
  async #take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    await this.#step((bounded) => this.#options.candidate.take(bounded), this.#stepMs);
    if (this.leftMs() === 0) return false;
    if (signal.aborted) await this.release();
    return !signal.aborted;
  }

  /** Runs one step. Logs a failure and returns undefined: the next step retries. */
  async #step<R>(
    call: (bounded: AbortSignal) => Promise<R>,
    boundMs: number,
    signal?: AbortSignal,
  ): Promise<R | undefined> {
    const { clock, log } = this.#options;
    try {
      return await within(clock, boundMs, signal, call);
    } catch (err) {
      if (isConflict(err) || isAlreadyExists(err)) log.debug({ err }, 'another process took the lease first');
      else if (!signal?.aborted) log.warn({ err }, 'request for the lease failed');
      return undefined;
    }
  }
}
