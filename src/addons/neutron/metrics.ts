import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { SECONDS_BUCKETS } from '../../kube/prometheus/buckets.ts';
import type { NeutronMetrics } from './neutron-garbage-collector.ts';
import type { HttpMetrics } from './openstack/openstack-http.ts';

/** Metrics of requests to OpenStack and of its availability. */
export function neutronMetrics(registry: Registry): HttpMetrics & NeutronMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'envoy_initializer_neutron_requests_total',
    help: 'Requests to Neutron and Keystone by method and status code',
    labelNames: ['method', 'code'],
    registers,
  });
  const time = new Histogram({
    name: 'envoy_initializer_neutron_request_duration_seconds',
    help: 'Response times of Neutron and Keystone',
    labelNames: ['method'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const available = new Gauge({
    name: 'envoy_initializer_neutron_available',
    help: 'Whether Neutron answered the last check of the leader: 1, else 0; absent without credentials',
    registers: [],
  });
  let isWatched = false;
  return {
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ method }, seconds);
    },
    available(is) {
      // Without credentials, no metric must say that OpenStack is down.
      if (!isWatched) registry.registerMetric(available);
      isWatched = true;
      available.set(is ? 1 : 0);
    },
  };
}
