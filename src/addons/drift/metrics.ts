import { Gauge, type Registry } from 'prom-client';
import type { KubeObject } from '../../kube/api/object.ts';

/** Pods whose sidecar is missing or stale, and the state of their repair. */
export interface DriftMetrics {
  /** Reads these at each scrape from now on. */
  watch(fleet: {
    readonly findings: () => readonly { readonly kind: string; readonly pod: KubeObject }[];
    /** Why repair has stopped; undefined while it has not. */
    readonly stopped: () => string | undefined;
  }): void;
}

/** At most this many namespaces get their own series. The pods of the others are counted together. */
const MAX_NAMESPACES = 100;

export function driftMetrics(registry: Registry): DriftMetrics {
  let fleet: Parameters<DriftMetrics['watch']>[0] = { findings: () => [], stopped: () => undefined };
  new Gauge({
    name: 'envoy_initializer_drifted_pods',
    help: 'Pods whose sidecar is missing (missed) or of another version of the template (stale); on the leader',
    labelNames: ['namespace', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      const named = new Set<string>();
      for (const { kind, pod } of fleet.findings()) {
        const name = pod.metadata.namespace ?? '';
        const namespace = named.has(name) || named.size < MAX_NAMESPACES ? name : '<others>';
        named.add(namespace);
        this.inc({ namespace, kind });
      }
    },
  });
  new Gauge({
    name: 'envoy_initializer_repair_stopped',
    help: '1 if repair has stopped because a replacement has no sidecar either, else 0',
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
