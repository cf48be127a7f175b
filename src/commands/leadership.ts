import type { KubeClient } from '../kube/client.ts';
import { type Lead, LeaderElector, type LeaderElectorOptions } from '../kube/leader-elector.ts';

export interface LeadershipOptions
  extends Pick<LeaderElectorOptions, 'clock' | 'lease' | 'identity' | 'log' | 'metrics' | 'events'> {
  /** Without an election this process leads for as long as it runs. */
  readonly enabled: boolean;
  readonly client: KubeClient;
}

export interface Leadership {
  /** Throws where this process does not lead at this very moment: then nothing may be written. */
  readonly assertLeading: () => void;
  /** Leads whenever the lease is to be had, until the signal aborts and the work has ended. */
  run(signal: AbortSignal, lead: Lead): Promise<void>;
}

// client-go's figures for leaders that reconcile.
const TIMING = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/**
 * The election, and standing again for it. Where client-go ends the process when a lease is lost, this one stops what
 * the leader does and goes on: the same process answers the API server, and an API server that was away for a minute
 * takes the lease from every leader. What is left of the old term writes nothing while another may lead, since each
 * request asks first.
 */
export function leadership({ enabled, ...options }: LeadershipOptions): Leadership {
  const elector = new LeaderElector({ ...TIMING, ...options, wallClock: () => new Date() });
  return {
    assertLeading() {
      if (enabled && !elector.isLeader()) throw new Error('this process does not lead: nothing is written');
    },
    async run(signal, lead) {
      if (!enabled) return await lead(signal);
      while (!signal.aborted) {
        if ((await elector.run(signal, lead)) === 'lost')
          options.log.warn('the lease is lost: standing for it again');
      }
    },
  };
}
