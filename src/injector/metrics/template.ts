import { Counter, Gauge, type Registry } from 'prom-client';

/** Which template pods get. */
export interface TemplateMetrics {
  adopted(generation: number): void;
  rejected(): void;
}

export function templateMetrics(registry: Registry): TemplateMetrics {
  const registers = [registry];
  const generation = new Gauge({
    name: 'envoy_initializer_template_generation',
    help: 'How often a template has been adopted by this process',
    registers,
  });
  const rejected = new Counter({
    name: 'envoy_initializer_template_rejected_total',
    help: 'Templates that were refused for their faults',
    registers,
  });
  const current = new Gauge({
    name: 'envoy_initializer_template_current',
    help: 'Whether pods get what the ConfigMap holds: 1, else 0, as it was refused for its faults',
    registers,
  });
  // A gauge begins with 0, and nothing is known yet.
  current.remove();
  return {
    adopted(count) {
      generation.set(count);
      current.set(1);
    },
    rejected() {
      rejected.inc();
      current.set(0);
    },
  };
}
