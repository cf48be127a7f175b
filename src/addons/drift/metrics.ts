import { Gauge, type Registry } from 'prom-client';
import type { Finding } from './drift.ts';

/** At most this many namespaces get their own series. The pods of the others are counted together. */
const MAX_NAMESPACES = 100;

/** Reads the pods whose sidecar is missing or stale, and why repair has stopped, at each scrape. */
export function driftMetrics(
  registry: Registry,
  {
    findings,
    stopped,
  }: { readonly findings: () => readonly Finding[]; readonly stopped: () => string | undefined },
): void {
  new Gauge({
    name: 'envoy_initializer_drifted_pods',
    help: 'Pods whose sidecar is missing (missed) or of another version of the template (stale); on the leader',
    labelNames: ['namespace', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      const named = new Set<string>();
      for (const { kind, pod } of findings()) {
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
      this.set(stopped() === undefined ? 0 : 1);
    },
  });
}
