import type { Registry } from 'prom-client';
import { metricsIn } from '../../kube/prometheus/index.ts';
import { RULES } from '../rules/index.ts';

/** Counts the decisions of the webhook about pods, and their templates. The labels are closed sets. */
export function injectionMetrics(registry: Registry) {
  const { counter } = metricsIn(registry);
  const injections = counter(
    ['envoy_initializer_injections_total', 'Pods handled, by decision and reason'],
    'decision',
    'reason',
  );
  // An alert needs the series before the first pod.
  for (const { reason, warn } of RULES) if (warn) injections.inc({ decision: 'skipped', reason }, 0);
  const byTemplate = counter(
    [
      'envoy_initializer_template_injections_total',
      'Pods injected, by template; a pod with several templates counts for each',
    ],
    'template',
  );
  return {
    decided(decision: string, reason: string, templates: readonly string[]): void {
      injections.inc({ decision, reason });
      for (const template of templates) byTemplate.inc({ template });
    },
  };
}

/** Which template version pods get. */
export function templateMetrics(registry: Registry) {
  const { counter, gauge } = metricsIn(registry);
  const generation = gauge([
    'envoy_initializer_template_generation',
    'How often this process has adopted a template',
  ]);
  const rejected = counter([
    'envoy_initializer_template_rejected_total',
    'Templates that were refused because they are invalid',
  ]);
  const current = gauge([
    'envoy_initializer_template_current',
    '1 if pods get the template of the ConfigMap, 0 if that is invalid',
  ]);
  // A gauge starts at 0, but the ConfigMap is not read yet.
  current.remove();
  return {
    adopted(count: number): void {
      generation.set(count);
      current.set(1);
    },
    rejected(): void {
      rejected.inc();
      current.set(0);
    },
  };
}
