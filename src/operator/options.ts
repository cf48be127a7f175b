import type { CertificateOptions } from '../certificates/setup.ts';
import type { FleetOptions } from '../drift/setup.ts';
import type { WebhookOptions } from '../injector/setup.ts';
import type { LogLevel } from '../kube/manager/logger.ts';
import type { Range } from '../network/ipam/cidr.ts';
import type { RangePolicy } from '../network/ipam/range-policy.ts';
import type { PolicyOptions } from '../policies/setup.ts';

/** The parsed flags of `serve`; durations are in milliseconds. */
export interface OperatorOptions extends CertificateOptions, FleetOptions, PolicyOptions, WebhookOptions {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly metricsPort: number;
  readonly leaderElect: boolean;
  readonly shutdownDelay: number;
  readonly shutdownTimeout: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  readonly workers: number;
  readonly resync: number;
  readonly networkProvider: 'multus' | 'neutron';
  readonly sharedNetworkNamespaces: readonly string[];
  readonly clusterCidrs: readonly string[];
  readonly networkRanges: readonly Range[];
  readonly networkLargest: RangePolicy['largest'];
  readonly neutronSecret: string;
  readonly nodeAgentNamespace: string | undefined;
}
