import { Counter, Gauge, type Registry } from 'prom-client';
import { RULES } from '../rules/index.ts';

/** Counts the decisions of the webhook about pods, and their templates. The labels are closed sets. */
export function injectionMetrics(registry: Registry) {
  const injections = new Counter({
    name: 'envoy_initializer_injections_total',
    help: 'Pods decided, by decision and reason',
    labelNames: ['decision', 'reason'],
    registers: [registry],
  });
  // An alert needs the series before the first pod.
  for (const { reason, warn } of RULES) if (warn) injections.inc({ decision: 'skipped', reason }, 0);
  const byTemplate = new Counter({
    name: 'envoy_initializer_template_injections_total',
    help: 'Pods injected, by template; a pod with several templates counts for each',
    labelNames: ['template'],
    registers: [registry],
  });
  return {
    decided(decision: string, reason: string): void {
      injections.inc({ decision, reason });
    },
    injected(templates: readonly string[]): void {
      for (const template of templates) byTemplate.inc({ template });
    },
  };
}

/** Which template version pods get. */
export function templateMetrics(registry: Registry) {
  const registers = [registry];
  const generation = new Gauge({
    name: 'envoy_initializer_template_generation',
    help: 'How often this process has adopted a template',
    registers,
  });
  const rejected = new Counter({
    name: 'envoy_initializer_template_rejected_total',
    help: 'Templates that were refused because they are invalid',
    registers,
  });
  const current = new Gauge({
    name: 'envoy_initializer_template_current',
    help: '1 if pods get the template of the ConfigMap, 0 if that is invalid',
    registers,
  });
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
