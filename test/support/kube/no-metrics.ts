import type { WebhookMetrics } from '../../../src/kube/prometheus/index.ts';

/** For webhooks whose calls nobody counts. */
export const NO_WEBHOOK_METRICS: WebhookMetrics = {
  inFlight() {},
  answered() {},
  refused() {},
  watchConnections() {},
};
