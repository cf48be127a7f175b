import { type Lead, LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';

export interface LeadershipOptions
  extends Pick<LeaderElectorOptions, 'client' | 'clock' | 'lease' | 'identity' | 'log'>,
    Partial<Pick<LeaderElectorOptions, 'metrics' | 'events' | 'wallClock' | 'random'>> {
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
