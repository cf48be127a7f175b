import { Counter, type Registry } from 'prom-client';
import { memoized } from '../../kube/prometheus/memoized.ts';

/** What became of the pods that the webhook was asked about. */
export interface InjectionMetrics {
  /** A pod was decided: the decision, and for a skip the reason (a closed set each). */
  decided(decision: string, reason: string): void;
}

export function injectionMetrics(registry: Registry): InjectionMetrics {
  const injections = new Counter({
    name: 'envoy_initializer_injections_total',
    help: 'Pods decided, by decision and reason',
    labelNames: ['decision', 'reason'],
    registers: [registry],
  });
  const countOf = memoized((decision: string) =>
    memoized((reason: string) => injections.labels({ decision, reason })),
  );
  return { decided: (decision, reason) => countOf(decision)(reason).inc() };
}
