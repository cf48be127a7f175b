import { Counter, type Registry } from 'prom-client';
import { memoized } from '../../kube/prometheus/memoized.ts';

/** Counts the decisions of the webhook about pods. */
export interface InjectionMetrics {
  /** Counts a pod by decision and reason. Both are closed sets. */
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
