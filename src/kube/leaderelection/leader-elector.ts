import { isAlreadyExists, isConflict } from '../api/api-error.ts';
import type { EventRecorder } from '../events/events.ts';
import type { LeaderMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { sleep } from '../util/sleep.ts';
import { withTimeout } from '../util/with-timeout.ts';
import type { Clock } from '../workqueue/clock.ts';
import { LeaseCandidate, type LeaseClient, type LeaseName } from './lease.ts';

/** The three durations of an election, in milliseconds. */
export interface ElectionTiming {
  /**
   * How long others wait without seeing a renewal before they take over: the outage after a crash of the leader. Whole
   * seconds, as the Lease has them.
   */
  readonly leaseDurationMs: number;
  /** How long a leader works after its last renewal. In the rest of the lease, its work ends. */
  readonly renewDeadlineMs: number;
  /** The time between two attempts. */
  readonly retryPeriodMs: number;
}

/** The durations of client-go's components. */
export const defaultElectionTiming: ElectionTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** Jitter between attempts to acquire, as client-go's wait.JitterUntil: up to this factor of a period longer. */
const JITTER_FACTOR = 1.2;

export interface LeaderElectorOptions {
  /** A client with separate connections: no other request can delay a renewal. */
  readonly client: LeaseClient;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  readonly random?: () => number;
  readonly lease: LeaseName;
  /** Unique to this process, also after a restart on the same host: `hostname_uuid`. */
  readonly identity: string;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics;
  readonly events?: EventRecorder;
  readonly timing?: ElectionTiming;
}

/** `stopped`: by the signal, and the lease was released. `lost`: another process may lead now. */
export type ElectionOutcome = 'stopped' | 'lost';

/** The work of a leader. It must end soon after the signal aborts. */
export type Lead = (leading: AbortSignal) => Promise<void>;

/**
 * Takes part in an election by a Lease (client-go's tools/leaderelection). Time alone prevents two leaders, without
 * comparing the clocks of two machines. Others take over when they have *seen* no renewal for the lease's duration. The
 * leader ends at the renew deadline, which is shorter, after it last *requested* one. The server does not fence a late
 * writer, so the work must call {@link isLeader} right before each write.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #timing: ElectionTiming;
  /** Limit of one step: half the deadline, as in controller-runtime's client, so that there is time for a second one. */
  readonly #stepMs: number;
  readonly #candidate: LeaseCandidate;
  readonly #log: Logger;
  /** When the lease was lost, if the work of its term has not ended. */
  #lostAt: number | undefined;

  constructor(options: LeaderElectorOptions) {
    const { client, lease, clock, wallClock, identity, timing = defaultElectionTiming } = options;
    this.#options = options;
    this.#timing = timing;
    this.#stepMs = timing.renewDeadlineMs / 2;
    this.#log = options.log.child({ lease: `${lease.namespace}/${lease.name}`, identity });
    const durationSeconds = timing.leaseDurationMs / 1000;
    this.#candidate = new LeaseCandidate({ client, lease, clock, wallClock, identity, durationSeconds });
  }

  /** Whether this process leads now. It reads the clock, since a blocked event loop delays timers. */
  isLeader(): boolean {
    return this.#leftMs() > 0;
  }

  /**
   * The problem that a restart would fix: the work of a lost term still runs `toleranceMs` after its signal aborted, so
   * this process cannot lead again. Undefined otherwise, also while the API server is unreachable.
   */
  healthProblem(toleranceMs: number): string | undefined {
    const { clock, lease } = this.#options;
    if (this.#lostAt === undefined || clock.now() - this.#lostAt <= toleranceMs) return undefined;
    return `the lease ${lease.namespace}/${lease.name} is lost, and the work under it has not ended`;
  }

  /**
   * Waits for the lease, then runs `lead`, and renews the lease until `lead` has ended. When `signal` aborts, so does
   * the signal of the work. The lease is renewed while the work drains, and then released: `stopped`. When the lease is
   * lost, the signal of the work aborts as well. This resolves with `lost` once the work has ended: terms do not
   * overlap. Rejects with the error of failed work, after the lease is released.
   */
  async run(signal: AbortSignal, lead: Lead): Promise<ElectionOutcome> {
    this.#options.metrics?.masterStatus(false);
    if (!(await this.#acquire(signal))) return 'stopped';
    this.#report(true);
    const leading = new AbortController();
    const ended = new AbortController();
    const onStop = () => leading.abort(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    const work = settle(lead, leading.signal).finally(() => ended.abort());
    const kept = await this.#renewUntil(ended.signal);
    signal.removeEventListener('abort', onStop);
    this.#report(false);
    if (kept) await this.#release();
    else {
      this.#lostAt = this.#options.clock.now();
      leading.abort(new Error('the lease is lost'));
    }
    const failure = await work;
    this.#lostAt = undefined;
    if (failure && failure.error !== leading.signal.reason) throw failure.error;
    return kept ? 'stopped' : 'lost';
  }

  /** Resolves with true once this process holds the lease, or with false if the signal aborts first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random = Math.random } = this.#options;
    for (let known = ''; !signal.aborted; ) {
      const leader = await this.#step((bounded) => this.#candidate.look(bounded), this.#stepMs, signal);
      if (leader === '' && (await this.#take(signal))) return true;
      if (leader && leader !== known) {
        known = leader;
        this.#log.info({ leader }, 'waiting for the lease');
      }
      // Rejects only when the signal aborts, which the loop checks.
      const pauseMs = this.#timing.retryPeriodMs * (1 + JITTER_FACTOR * random());
      await sleep(clock, pauseMs, signal).catch(() => undefined);
    }
    return false;
  }

  /** The signal does not abort a write: if it takes effect unnoticed, the others would wait for this process. */
  async #take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    await this.#step((bounded) => this.#candidate.take(bounded), this.#stepMs);
    if (!this.isLeader()) return false;
    if (signal.aborted) await this.#release();
    return !signal.aborted;
  }

  /** Resolves with false when the lease is lost, or with true if `ended` aborts first. */
  async #renewUntil(ended: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    for (let triedAt = clock.now(); ; ) {
      const pauseMs = Math.min(triedAt + this.#timing.retryPeriodMs - clock.now(), this.#leftMs());
      await sleep(clock, Math.max(0, pauseMs), ended).catch(() => undefined);
      if (ended.aborted) return true;
      const leftMs = this.#leftMs();
      if (leftMs <= 0) {
        this.#log.error('lost the lease: not renewed within the renew deadline');
        return false;
      }
      triedAt = clock.now();
      await this.#step((bounded) => this.#candidate.renew(bounded), Math.min(this.#stepMs, leftMs), ended);
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
      await withTimeout(this.#options.clock, this.#stepMs, undefined, release);
      this.#log.info('released the lease');
    } catch (err) {
      this.#log.warn({ err }, 'cannot release the lease: others wait until it expires');
    }
  }

  /** Milliseconds until the renew deadline; 0 if it has passed, or if this process does not hold the lease. */
  #leftMs(): number {
    const { renewedAt } = this.#candidate;
    if (renewedAt === undefined) return 0;
    return Math.max(0, renewedAt + this.#timing.renewDeadlineMs - this.#options.clock.now());
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

/** Runs the work, and resolves with its error, if any. */
async function settle(lead: Lead, leading: AbortSignal): Promise<{ readonly error: unknown } | undefined> {
  try {
    await lead(leading);
    return undefined;
  } catch (error) {
    return { error };
  }
}

export interface LeadershipOptions
  extends Omit<LeaderElectorOptions, 'wallClock' | 'timing'>,
    Partial<Pick<LeaderElectorOptions, 'wallClock'>> {
  /** If false, there is no election: this process leads for as long as it runs. */
  readonly enabled: boolean;
}

export interface Leadership {
  /**
   * Throws unless this process leads now, and `term`, the signal of the term's work, has not aborted. Refuses a request
   * without a signal, which belongs to no term.
   */
  readonly assertLeading: (term: AbortSignal | undefined) => void;
  /** The problem that a restart of this process would fix, if any. */
  readonly healthProblem: () => string | undefined;
  /** Leads whenever it gets the lease, until the signal aborts and the work has ended. */
  run(signal: AbortSignal, lead: Lead): Promise<void>;
}

/** Longer than any drain of a term. */
const STUCK_MS = 60_000;

/**
 * The election, repeated after each lost lease. client-go ends the process when a lease is lost. This one ends the
 * leader's work and waits for the lease again: the same process answers the API server, and each leader loses its lease
 * when the API server is unreachable for a minute. A new term starts when the work of the old one has ended.
 */
export function leadership({ enabled, ...options }: LeadershipOptions): Leadership {
  const elector = new LeaderElector({ wallClock: () => new Date(), ...options });
  return {
    assertLeading(term) {
      if (!term)
        throw new Error('expected a request of the leader to carry the signal of its term, got none');
      term.throwIfAborted();
      if (enabled && !elector.isLeader())
        throw new Error('this process does not lead: the request is not sent');
    },
    healthProblem: () => elector.healthProblem(STUCK_MS),
    async run(signal, lead) {
      if (!enabled) return await lead(signal);
      while (!signal.aborted) {
        if ((await elector.run(signal, lead)) === 'lost')
          options.log.warn('lost the lease: waiting for it again');
      }
    },
  };
}
