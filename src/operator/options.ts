import type { CertificateOptions } from '../certificates/setup.ts';
import type { WebhookOptions } from '../injection/webhook/setup.ts';
import type { LogLevel } from '../kube/manager/logger.ts';
import type { NetworkOptions } from '../networks/setup.ts';

/** The parsed flags of `serve` without those of add-ons; durations are in milliseconds. */
export interface OperatorOptions extends CertificateOptions, NetworkOptions, WebhookOptions {
  /** The name of the webhook for pods that opt in themselves. */
  readonly initializerName: string;
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly metricsPort: number;
  readonly leaderElect: boolean;
  readonly shutdownDelay: number;
  readonly shutdownTimeout: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  /** Environment variables that look like flags and are none. */
  readonly ignoredVariables: readonly string[];
}
