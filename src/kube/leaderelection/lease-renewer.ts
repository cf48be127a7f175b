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

/** Gets a lease and keeps it: tries again what fails, in an election's time. */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  /** Bound of one step: half the deadline, as controller-runtime's client has it, so that there is a second try. */
  readonly #stepMs: number;

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
    this.#stepMs = options.timing.renewDeadlineMs / 2;
  }

  /** Resolves with true once the lease is ours, with false when the signal aborted before. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { candidate, clock, random, timing, log } = this.#options;
    for (let known = ''; !signal.aborted; ) {
      const leader = await this.#step((bounded) => candidate.look(bounded), this.#stepMs, signal);
      if (leader === '' && (await this.#take(signal))) return true;
      if (leader && leader !== known) {
        known = leader;
        log.info({ leader }, 'another leads');
      }
      // Rejects only when the signal aborts, which the loop looks at.
      await sleep(clock, timing.retryPeriodMs * (1 + JITTER_FACTOR * random()), signal).catch(
        () => undefined,
      );
    }
    return false;
  }

  /** Resolves with false when the lease is lost, with true when `ended` aborted before. */
  async renewUntil(ended: AbortSignal): Promise<boolean> {
    const { candidate, clock, timing, log } = this.#options;
    for (let triedAt = clock.now(); ; ) {
      const pauseMs = Math.min(triedAt + timing.retryPeriodMs - clock.now(), this.leftMs());
      await sleep(clock, Math.max(0, pauseMs), ended).catch(() => undefined);
      if (ended.aborted) return true;
      const leftMs = this.leftMs();
      if (leftMs <= 0) {
        log.error('the lease is lost: not renewed within the renew deadline');
        return false;
      }
      triedAt = clock.now();
      await this.#step((bounded) => candidate.renew(bounded), Math.min(this.#stepMs, leftMs), ended);
      if (candidate.renewedAt === undefined) {
        log.error({ leader: candidate.holder }, 'the lease is lost: it is not ours any more');
        return false;
      }
    }
  }

  /** Gives the lease up as well as it can: where that fails, others wait until it has run out. */
  async release(): Promise<void> {
    const { candidate, clock, log } = this.#options;
    try {
      await within(clock, this.#stepMs, undefined, (bounded) => candidate.release(bounded));
      log.info('gave up the lease');
    } catch (err) {
      log.warn({ err }, 'the lease was not given up: others wait until it runs out');
    }
  }

  /** How long until the renew deadline, in milliseconds; 0 when it has passed, or the lease is not ours. */
  leftMs(): number {
    const { candidate, clock, timing } = this.#options;
    const { renewedAt } = candidate;
    return renewedAt === undefined ? 0 : Math.max(0, renewedAt + timing.renewDeadlineMs - clock.now());
  }

  /** A write under way is not aborted by the signal: a lease unknowingly ours would keep the others waiting. */
  async #take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    await this.#step((bounded) => this.#options.candidate.take(bounded), this.#stepMs);
    if (this.leftMs() === 0) return false;
    if (signal.aborted) await this.release();
    return !signal.aborted;
  }

  /** One step, its failure logged: the next one is the remedy. Undefined where it failed. */
  async #step<R>(
    call: (bounded: AbortSignal) => Promise<R>,
    boundMs: number,
    signal?: AbortSignal,
  ): Promise<R | undefined> {
    const { clock, log } = this.#options;
    try {
      return await within(clock, boundMs, signal, call);
    } catch (err) {
      if (isConflict(err) || isAlreadyExists(err)) log.debug({ err }, 'another was quicker');
      else if (!signal?.aborted) log.warn({ err }, 'a request for the lease failed');
      return undefined;
    }
  }
}
