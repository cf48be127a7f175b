import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from 'prom-client';
import type { ApiAccess } from '../client/access.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { ShutdownOptions } from './lifecycle.ts';
import type { LogVerbosity } from './logger.ts';

export interface ManagerOptions {
  /** The name of the program, used in its lease, its Events and its metrics. */
  readonly name: string;
  /** The name of this replica; default the host name. */
  readonly identity?: string;
  readonly api: ApiAccess;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly wallClock?: () => Date;
  readonly log: Logger;
  readonly registry: Registry;
  /** The namespace of the lease. Without it, or with `enabled` false, this process always leads. */
  readonly leaderElection?: { readonly namespace: string; readonly enabled?: boolean };
  /** The port for the kubelet and Prometheus; default none. */
  readonly probes?: { readonly port: number; readonly verbosity: LogVerbosity };
  /** The port for admission reviews; default none. */
  readonly webhook?: { readonly port: number; readonly verifyClients?: boolean };
  /** Default: no delay, and 30 s for the whole shutdown. */
  readonly shutdown?: ShutdownOptions;
}

/** The options of Manager.create(). */
export interface CreateManagerOptions extends Omit<ManagerOptions, 'api' | 'clock' | 'log' | 'registry'> {
  /** Default: the kubeconfig that kubectl finds, or the pod's service account. */
  readonly config?: KubeConfig;
  /** Default: JSON lines on standard output. */
  readonly log?: Logger;
}
