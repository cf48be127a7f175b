import { Gauge, type Registry } from 'prom-client';
import type { PolicyMetrics } from './controller.ts';

/** The metrics of the policies. */
export function policyMetrics(registry: Registry): PolicyMetrics {
  const policies = new Gauge({
    name: 'envoy_initializer_policies',
    help: 'MutatingAdmissionPolicies that this process maintains as the leader; 0 if policies are off or not supported',
    registers: [registry],
  });
  return { kept: (count) => policies.set(count) };
}
