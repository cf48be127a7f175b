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
  /** One of its own, with connections of its own: nothing else that we send may hold up a renewal. */
  readonly client: LeaseClient;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly lease: LeaseName;
  /** Unique to this process, also against its own predecessor of the same name: `hostname_uuid`. */
  readonly identity: string;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics;
  readonly events?: EventRecorder;
}

/** `stopped`: as asked, and the lease was given up. `lost`: another process may lead now. */
export type ElectionOutcome = 'stopped' | 'lost';

/** A leader's work: it ends soon after the signal aborts. */
export type Lead = (leading: AbortSignal) => Promise<void>;

/**
 * Takes part in an election by a Lease (client-go's tools/leaderelection). Two leaders are kept apart by time alone,
 * but never by comparing the clocks of two machines: others take over when they have *seen* no renewal for the lease's
 * duration, and we end at the renew deadline, which is shorter, since we last *asked* for one. Nothing at the server
 * fences a late writer off, so work that writes asks {@link isLeader} right before.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #lock: LeaseLock;
  readonly #candidate: LeaseCandidate;
  readonly #renewer: LeaseRenewer;
  readonly #log: Logger;
  /** When the lease was lost under work that has not ended since. */
  #lostAt: number | undefined;

  /** @throws RangeError for durations that cannot work, Error for an empty identity. */
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

  /** Whether we lead at this very moment, also when the event loop stood still and no timer could say otherwise. */
  isLeader(): boolean {
    return this.#renewer.leftMs() > 0;
  }

  /**
   * What a restart would repair: the work of a lost term still runs `toleranceMs` after it was told to end, so that this
   * process cannot lead again. Undefined otherwise, also while the API server is away.
   */
  healthProblem(toleranceMs: number): string | undefined {
    const { clock, lease } = this.#options;
    if (this.#lostAt === undefined || clock.now() - this.#lostAt <= toleranceMs) return undefined;
    return `the lease ${lease.namespace}/${lease.name} is lost, and the work under it has not ended`;
  }

  /**
   * Waits for the lease, then runs `lead` and renews until that has ended. When `signal` aborts, so does the work's; the
   * lease is renewed while it drains, and then given up: `stopped`. When the lease is lost, the work's signal aborts as
   * well, and this resolves with `lost` once the work has ended: no two terms overlap.
   * Rejects with the error of work that failed, its lease given up.
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

/** Runs the work and resolves with what it failed with, if it did. */
async function settle(lead: Lead, leading: AbortSignal): Promise<{ readonly error: unknown } | undefined> {
  try {
    await lead(leading);
    return undefined;
  } catch (error) {
    return { error };
  }
}
