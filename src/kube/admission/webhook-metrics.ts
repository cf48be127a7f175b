import type { RefusalReason } from './http-error.ts';

/** Called for the metrics of webhooks; each webhook is named by its path. */
export interface WebhookMetrics {
  /** A call has begun, or has ended. */
  inFlight(webhook: string, change: 1 | -1): void;
  /** A call was answered with this HTTP status after this time; the path is empty for an unknown webhook. */
  answered(webhook: string, code: number, seconds: number): void;
  /** A call or a connection was refused to protect others. */
  refused(reason: RefusalReason): void;
  /** Sets the function that returns the number of open connections. */
  watchConnections(count: () => number): void;
}
