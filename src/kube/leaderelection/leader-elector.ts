import { isAlreadyExists, isConflict } from '../api/api-error.ts';
import type { EventRecorder } from '../events/events.ts';
import type { LeaderMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { linkedAbort, sleep, withTimeout } from '../util/waits.ts';
import { LeaseCandidate, type LeaseCandidateOptions } from './lease.ts';

/** The durations of an election, in milliseconds: those of client-go's components. */
export const ELECTION_TIMING = {
  /**
   * How long others wait without seeing a renewal before they take over: the outage after a crash of the leader. Whole
   * seconds, as the Lease has them.
   */
  leaseDurationMs: 15_000,
  /** How long a leader works after its last renewal. In the rest of the lease, its work ends. */
  renewDeadlineMs: 10_000,
  /** The time between two attempts. */
  retryPeriodMs: 2_000,
};
const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = ELECTION_TIMING;
/** Limit of one step: half the deadline, as in controller-runtime's client, so that there is time for a second one. */
const STEP_MS = renewDeadlineMs / 2;
/** How long the work of a lost term may go on: longer than any drain of a term. */
const STUCK_MS = 60_000;

/** Jitter between attempts to acquire, as client-go's wait.JitterUntil: up to this factor of a period longer. */
const JITTER_FACTOR = 1.2;

export interface LeaderElectorOptions extends Omit<LeaseCandidateOptions, 'durationSeconds'> {
  /** If false, there is no election: this process leads for as long as it runs. */
  readonly enabled: boolean;
  readonly random?: () => number;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics;
  readonly events?: EventRecorder;
}

/** The work of a leader. It must end soon after the signal aborts. */
export type Lead = (leading: AbortSignal) => Promise<void>;

/**
 * Takes part in an election by a Lease (client-go's tools/leaderelection). Time alone prevents two leaders, without
 * comparing the clocks of two machines. Others take over when they have *seen* no renewal for the lease's duration. The
 * leader ends at the renew deadline, which is shorter, after it last *requested* one. The server does not fence a late
 * writer, so the work must call {@link assertLeading} right before each write.
 *
 * client-go ends the process when a lease is lost. This one ends the leader's work and waits for the lease again: the
 * same process answers the API server, and each leader loses its lease when the API server is unreachable for a minute.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #candidate: LeaseCandidate;
  readonly #log: Logger;
  /** When the lease was lost, if the work of its term has not ended. */
  #lostAt: number | undefined;

  constructor(options: LeaderElectorOptions) {
    const { lease, identity } = options;
    this.#options = options;
    this.#log = options.log.child({ lease: `${lease.namespace}/${lease.name}`, identity });
    this.#candidate = new LeaseCandidate({ ...options, durationSeconds: leaseDurationMs / 1000 });
  }

  /** Whether this process leads now. It reads the clock, since a blocked event loop delays timers. */
  isLeader(): boolean {
    return this.#leftMs() > 0;
  }

  /**
   * Throws unless this process leads now, and `term`, the signal of the term's work, has not aborted. Refuses a request
   * without a signal, which belongs to no term.
   */
  readonly assertLeading = (term: AbortSignal | undefined): void => {
    if (!term) throw new Error('expected a request of the leader to carry the signal of its term, got none');
    term.throwIfAborted();
    if (this.#options.enabled && !this.isLeader())
      throw new Error('this process is not the leader: the request is not sent');
  };

  /**
   * The problem that a restart would fix: the work of a lost term still runs long after its signal aborted, so this
   * process cannot lead again. Undefined otherwise, also while the API server is unreachable.
   */
  healthProblem(): string | undefined {
    const { clock, lease } = this.#options;
    if (this.#lostAt === undefined || clock.now() - this.#lostAt <= STUCK_MS) return undefined;
    return `lost the lease ${lease.namespace}/${lease.name}, but the leader's work has not ended`;
  }

  /**
   * Leads whenever it gets the lease, until the signal aborts and the work has ended. A new term starts when the work of
   * the old one has ended. Rejects with the error of failed work, after the lease is released.
   */
  async run(signal: AbortSignal, lead: Lead): Promise<void> {
    if (!this.#options.enabled) return await lead(signal);
    this.#options.metrics?.masterStatus(false);
    while (await this.#acquire(signal)) await this.#runTerm(signal, lead);
  }

  /**
   * Runs `lead`, and renews the lease until it has ended. When `signal` aborts, so does the signal of the work. The lease
   * is renewed while the work drains, and then released. When the lease is lost, the signal of the work aborts as well.
   */
  async #runTerm(signal: AbortSignal, lead: Lead): Promise<void> {
    this.#report(true);
    const { controller: leading, unlink } = linkedAbort(signal);
    const ended = new AbortController();
    const work = Promise.allSettled([lead(leading.signal)]).finally(() => ended.abort());
    const isKept = await this.#renewUntil(ended.signal);
    unlink();
    this.#report(false);
    if (isKept) await this.#release();
    else {
      this.#lostAt = this.#options.clock.now();
      leading.abort(new Error('the lease is lost'));
    }
    const [outcome] = await work;
    this.#lostAt = undefined;
    if (outcome.status === 'rejected' && outcome.reason !== leading.signal.reason) throw outcome.reason;
    if (!isKept && !signal.aborted) this.#log.warn('lost the lease: waiting for it again');
  }

  /** Resolves with true once this process holds the lease, or with false if the signal aborts first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random = Math.random } = this.#options;
    for (let known = ''; !signal.aborted; ) {
      const leader = await this.#step((bounded) => this.#candidate.look(bounded), STEP_MS, signal);
      if (leader === '' && (await this.#take(signal))) return true;
      if (leader && leader !== known) {
        known = leader;
        this.#log.info({ leader }, 'waiting for the lease');
      }
      // Rejects only when the signal aborts, which the loop checks.
      const pauseMs = retryPeriodMs * (1 + JITTER_FACTOR * random());
      await sleep(clock, pauseMs, signal).catch(() => undefined);
    }
    return false;
  }

  /** The signal does not abort a write: if it takes effect unnoticed, the others would wait for this process. */
  async #take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    await this.#step((bounded) => this.#candidate.take(bounded), STEP_MS);
    if (!this.isLeader()) return false;
    if (signal.aborted) await this.#release();
    return !signal.aborted;
  }

  /** Resolves with false when the lease is lost, or with true if `ended` aborts first. */
  async #renewUntil(ended: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    for (let triedAt = clock.now(); ; ) {
      const pauseMs = Math.min(triedAt + retryPeriodMs - clock.now(), this.#leftMs());
      await sleep(clock, Math.max(0, pauseMs), ended).catch(() => undefined);
      if (ended.aborted) return true;
      const leftMs = this.#leftMs();
      if (leftMs <= 0) {
        this.#log.error('lost the lease: not renewed within the renew deadline');
        return false;
      }
      triedAt = clock.now();
      await this.#step((bounded) => this.#candidate.renew(bounded), Math.min(STEP_MS, leftMs), ended);
      if (this.#candidate.renewedAt === undefined) {
        const leader = this.#candidate.holder;
        this.#log.error({ leader }, 'lost the lease: another process holds it');
        return false;
      }
    }
  }

  /** Tries to release the lease. If that fails, others wait until it expires. */
  async #release(): Promise<void> {
    const release = (bounded: AbortSignal) => this.#candidate.release(bounded);
    try {
      await withTimeout(this.#options.clock, STEP_MS, undefined, release);
      this.#log.info('released the lease');
    } catch (err) {
      this.#log.warn({ err }, 'cannot release the lease: others wait until it expires');
    }
  }

  /** Milliseconds until the renew deadline; 0 if it has passed, or if this process does not hold the lease. */
  #leftMs(): number {
    const { renewedAt } = this.#candidate;
    if (renewedAt === undefined) return 0;
    return Math.max(0, renewedAt + renewDeadlineMs - this.#options.clock.now());
  }

  /** Runs one step. Logs a failure and returns undefined: the next step retries. */
  async #step<R>(
    call: (bounded: AbortSignal) => Promise<R>,
    boundMs: number,
    signal?: AbortSignal,
  ): Promise<R | undefined> {
    try {
      return await withTimeout(this.#options.clock, boundMs, signal, call);
    } catch (err) {
      if (isConflict(err) || isAlreadyExists(err))
        this.#log.debug({ err }, 'another process took the lease first');
      else if (!signal?.aborted) this.#log.warn({ err }, 'request for the lease failed');
      return undefined;
    }
  }

  #report(leading: boolean): void {
    const { identity, metrics, events } = this.#options;
    const what = leading ? 'became leader' : 'stopped leading';
    const action = leading ? 'Lead' : 'StopLeading';
    metrics?.masterStatus(leading);
    this.#log.info(what);
    const note = `${identity} ${what}`;
    events?.event(this.#candidate.object, { type: 'Normal', reason: 'LeaderElection', action, note });
  }
}
