import { Counter, Histogram, type Registry } from 'prom-client';
import type { ClientMetrics } from '../client/rest-client.ts';
import { SECONDS_BUCKETS } from './buckets.ts';

/** Requests to the API server under client-go's names. */
export function clientMetrics(registry: Registry): ClientMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server by method and status code',
    labelNames: ['method', 'code'],
    registers,
  });
  const time = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long the API server took to answer',
    labelNames: ['verb'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const refused = new Counter({
    name: 'envoy_initializer_writes_refused_total',
    help: 'Writes that the API server, a policy or a webhook refused, by resource and status code',
    labelNames: ['resource', 'code'],
    registers,
  });
  return {
    writeRefused: (resource, code) => refused.inc({ resource, code }),
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ verb: method }, seconds);
    },
  };
}
