import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { SECONDS_BUCKETS } from '../../../kube/prometheus/buckets.ts';
import type { NeutronMetrics } from './neutron-garbage-collector.ts';
import type { HttpMetrics } from './openstack/openstack-http.ts';

/** Requests to OpenStack, and whether it is there. */
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
    help: 'How long Neutron and Keystone took to answer',
    labelNames: ['method'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const available = new Gauge({
    name: 'envoy_initializer_neutron_available',
    help: 'Whether Neutron answered the leader when it last looked: 1, else 0; absent without credentials',
    registers: [],
  });
  let isWatched = false;
  return {
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ method }, seconds);
    },
    available(is) {
      // Who has no OpenStack should not be told that it is down.
      if (!isWatched) registry.registerMetric(available);
      isWatched = true;
      available.set(is ? 1 : 0);
    },
  };
}
