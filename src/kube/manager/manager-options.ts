import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from 'prom-client';
import type { ApiAccess } from '../client/access.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { ShutdownOptions } from './lifecycle.ts';
import type { LogVerbosity } from './logger.ts';

export interface ManagerOptions {
  /** The program's: its lease, its Events and its metrics have it. */
  readonly name: string;
  /** This replica's; that of the host unless given. */
  readonly identity?: string;
  readonly api: ApiAccess;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly wallClock?: () => Date;
  readonly log: Logger;
  readonly registry: Registry;
  /** Where the lease is. Without it, and with `enabled` false, this process leads for as long as it runs. */
  readonly leaderElection?: { readonly namespace: string; readonly enabled?: boolean };
  /** Where the kubelet and Prometheus ask; nowhere unless given. */
  readonly probes?: { readonly port: number; readonly verbosity: LogVerbosity };
  /** Where the API server sends reviews; nowhere unless given. */
  readonly webhook?: { readonly port: number; readonly verifyClients?: boolean };
  /** Ends at once, and within 30 s, unless given. */
  readonly shutdown?: ShutdownOptions;
}

/** What a manager of a real process is made of. */
export interface CreateManagerOptions extends Omit<ManagerOptions, 'api' | 'clock' | 'log' | 'registry'> {
  /** As kubectl finds it, or the pod's own account, unless given. */
  readonly config?: KubeConfig;
  /** JSON lines on standard output unless given. */
  readonly log?: Logger;
}
