import { Gauge, type Registry } from 'prom-client';
import type { KubeObject } from '../kube/api/object.ts';

/** Pods whose sidecar is missing or stale, and what is done about them. */
export interface FleetMetrics {
  /** From then on these are asked at each scrape. */
  watch(fleet: {
    readonly findings: () => readonly { readonly kind: string; readonly pod: KubeObject }[];
    /** Why nothing is evicted any more. */
    readonly stopped: () => string | undefined;
  }): void;
}

/** Namespaces that are told apart; the pods of the others count together. */
const MAX_NAMESPACES = 100;

export function fleetMetrics(registry: Registry): FleetMetrics {
  let fleet: Parameters<FleetMetrics['watch']>[0] = { findings: () => [], stopped: () => undefined };
  new Gauge({
    name: 'envoy_initializer_drifted_pods',
    help: 'Pods whose sidecar is missing (missed) or of another state of the template (stale); on the leader',
    labelNames: ['namespace', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      const told = new Set<string>();
      for (const { kind, pod } of fleet.findings()) {
        const name = pod.metadata.namespace ?? '';
        const namespace = told.has(name) || told.size < MAX_NAMESPACES ? name : '<others>';
        told.add(namespace);
        this.inc({ namespace, kind });
      }
    },
  });
  new Gauge({
    name: 'envoy_initializer_repair_stopped',
    help: 'Whether evicting pods without their sidecar has stopped, as new ones come without it too: 1, else 0',
    registers: [registry],
    collect() {
      this.set(fleet.stopped() === undefined ? 0 : 1);
    },
  });
  return {
    watch(watched) {
      fleet = watched;
    },
  };
}
