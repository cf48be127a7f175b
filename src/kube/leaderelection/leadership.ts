import { defaultElectionTiming } from './election-timing.ts';
import { type Lead, LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';

export interface LeadershipOptions
  extends Pick<LeaderElectorOptions, 'client' | 'clock' | 'lease' | 'identity' | 'log'>,
    Partial<Pick<LeaderElectorOptions, 'metrics' | 'events' | 'wallClock' | 'random'>> {
  /** Without an election this process leads for as long as it runs. */
  readonly enabled: boolean;
}

export interface Leadership {
  /**
   * Throws unless this process leads right now and `term`, the signal that the work of the term was given, has not
   * aborted. A request without a signal belongs to no term, and is refused.
   */
  readonly assertLeading: (term: AbortSignal | undefined) => void;
  /** What a restart of this process would repair; undefined where nothing. */
  readonly healthProblem: () => string | undefined;
  /** Leads whenever the lease is to be had, until the signal aborts and the work has ended. */
  run(signal: AbortSignal, lead: Lead): Promise<void>;
}

/** Longer than any drain of a term. */
const STUCK_MS = 60_000;

/**
 * The election, and standing again for it. Where client-go ends the process when a lease is lost, this one ends the
 * leader's work and stands again: the same process answers the API server, and an API server that is away for a minute
 * takes the lease from every leader. A new term starts when the work of the old one has ended.
 */
export function leadership({ enabled, ...options }: LeadershipOptions): Leadership {
  const elector = new LeaderElector({
    ...defaultElectionTiming,
    wallClock: () => new Date(),
    ...options,
  });
  return {
    assertLeading(term) {
      if (!term)
        throw new Error('expected a request of the leader to carry the signal of its term, got none');
      term.throwIfAborted();
      if (enabled && !elector.isLeader()) throw new Error('this process does not lead: nothing is written');
    },
    healthProblem: () => elector.healthProblem(STUCK_MS),
    async run(signal, lead) {
      if (!enabled) return await lead(signal);
      while (!signal.aborted) {
        if ((await elector.run(signal, lead)) === 'lost')
          options.log.warn('the lease is lost: standing for it again');
      }
    },
  };
}
