import type { EventRecorder } from '../events/events.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type ElectionTiming, validateTiming } from './election-timing.ts';
import { LeaseCandidate } from './lease-candidate.ts';
import { type LeaseClient, LeaseLock, type LeaseName } from './lease-lock.ts';
import { LeaseRenewer } from './lease-renewer.ts';

export interface LeaderMetrics {
  /** Whether this process leads: client-go's `leader_election_master_status`. */
  masterStatus(leading: boolean): void;
}

export interface LeaderElectorOptions extends ElectionTiming {
  /** A client with separate connections: no other request can delay a renewal. */
  readonly client: LeaseClient;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly lease: LeaseName;
  /** Unique to this process, also after a restart on the same host: `hostname_uuid`. */
  readonly identity: string;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics;
  readonly events?: EventRecorder;
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
  readonly #lock: LeaseLock;
  readonly #candidate: LeaseCandidate;
  readonly #renewer: LeaseRenewer;
  readonly #log: Logger;
  /** When the lease was lost, if the work of its term has not ended. */
  #lostAt: number | undefined;

  /** @throws RangeError for invalid durations, Error for an empty identity. */
  constructor(options: LeaderElectorOptions) {
    validateTiming(options);
    const { client, lease, clock, wallClock, identity, random = Math.random } = options;
    if (identity === '') throw new Error('expected an identity unique to this process, got an empty one');
    const durationSeconds = options.leaseDurationMs / 1000;
    this.#options = options;
    this.#log = options.log.child({ lease: `${lease.namespace}/${lease.name}`, identity });
    this.#lock = new LeaseLock(client, lease);
    this.#candidate = new LeaseCandidate({ lock: this.#lock, clock, wallClock, identity, durationSeconds });
    this.#renewer = new LeaseRenewer({
      candidate: this.#candidate,
      timing: options,
      clock,
      random,
      log: this.#log,
    });
  }

  /** Whether this process leads now. It reads the clock, since a blocked event loop delays timers. */
  isLeader(): boolean {
    return this.#renewer.leftMs() > 0;
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
    if (!(await this.#renewer.acquire(signal))) return 'stopped';
    this.#report(true);
    const leading = new AbortController();
    const ended = new AbortController();
    const onStop = () => leading.abort(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    const work = settle(lead, leading.signal).finally(() => ended.abort());
    const kept = await this.#renewer.renewUntil(ended.signal);
    signal.removeEventListener('abort', onStop);
    this.#report(false);
    if (kept) await this.#renewer.release();
    else this.#endTerm(leading);
    const failure = await work;
    this.#lostAt = undefined;
    if (failure && failure.error !== leading.signal.reason) throw failure.error;
    return kept ? 'stopped' : 'lost';
  }

  #endTerm(leading: AbortController): void {
    this.#lostAt = this.#options.clock.now();
    leading.abort(new Error('the lease is lost'));
  }

  #report(leading: boolean): void {
    const { identity, metrics, events } = this.#options;
    const what = leading ? 'became leader' : 'stopped leading';
    const action = leading ? 'Lead' : 'StopLeading';
    metrics?.masterStatus(leading);
    this.#log.info(what);
    const note = `${identity} ${what}`;
    events?.event(this.#lock.object, { type: 'Normal', reason: 'LeaderElection', action, note });
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
