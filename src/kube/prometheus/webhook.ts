import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { WebhookMetrics } from '../admission/app.ts';
import { SECONDS_BUCKETS } from './buckets.ts';

/** The webhooks, each by its path, under controller-runtime's names (pkg/webhook/internal/metrics). */
export function webhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const labelNames = ['webhook'];
  const requests = new Counter({
    name: 'controller_runtime_webhook_requests_total',
    help: 'Admission requests by HTTP status code',
    labelNames: ['webhook', 'code'],
    registers,
  });
  const latency = new Histogram({
    name: 'controller_runtime_webhook_latency_seconds',
    help: 'How long admission requests took',
    labelNames,
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const underWay = new Map<string, number>();
  new Gauge({
    name: 'controller_runtime_webhook_requests_in_flight',
    help: 'Admission requests that are in flight',
    labelNames,
    registers,
    // Set at each scrape, instead of twice for each call.
    collect() {
      for (const [webhook, calls] of underWay) this.set({ webhook }, calls);
    },
  });
  const refused = new Counter({
    name: 'envoy_initializer_webhook_refused_total',
    help: 'Calls and connections that were refused to protect others',
    labelNames: ['reason'],
    registers,
  });
  return {
    inFlight: (webhook, change) => void underWay.set(webhook, (underWay.get(webhook) ?? 0) + change),
    answered(webhook, code, seconds) {
      requests.inc({ webhook, code: String(code) });
      latency.observe({ webhook }, seconds);
    },
    refused: (reason) => refused.inc({ reason }),
    watchConnections(count) {
      new Gauge({
        name: 'envoy_initializer_webhook_connections',
        help: 'Open connections to the webhook',
        registers,
        collect() {
          this.set(count());
        },
      });
    },
  };
}
