import { Gauge, type Registry } from 'prom-client';
import type { PolicyMetrics } from './controller.ts';

/** How much of the injection the API server does by itself. */
export function policyMetrics(registry: Registry): PolicyMetrics {
  const policies = new Gauge({
    name: 'envoy_initializer_policies',
    help: 'MutatingAdmissionPolicies that this process keeps, as the leader; 0 where there are to be none or can be none',
    registers: [registry],
  });
  return { kept: (count) => policies.set(count) };
}
