import type { RefusalReason } from './http-error.ts';

/** What is told of calls of the webhooks, for metrics; each webhook by its path. */
export interface WebhookMetrics {
  /** A call has begun, or has ended. */
  inFlight(webhook: string, change: 1 | -1): void;
  /** A call was answered with this HTTP status after so long; the path is empty where there is no such webhook. */
  answered(webhook: string, code: number, seconds: number): void;
  /** A call or a connection was refused for the sake of others. */
  refused(reason: RefusalReason): void;
  /** Where the number of open connections can be asked for. */
  watchConnections(count: () => number): void;
}
