import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type Route, routeKey } from '../compile/route.ts';

/** At most this many namespaces get their own series. */
const MAX_NAMESPACES = 100;

/** What is asked for at each scrape. */
interface Asked {
  /** The number of sidecars with older routes. */
  behind(): number;
  weights(): ReturnType<typeof weightsOf>;
}

/** The delivery of routes, as the leader sees it. */
export function routeMetrics(registry: Registry, asked: Asked) {
  const registers = [registry];
  const sizes = new Map<string, number>();
  new Gauge({
    name: 'envoy_initializer_routes_file_bytes',
    help: 'Size of the routes file for the sidecars in a namespace; on the leader',
    labelNames: ['namespace'],
    registers,
    collect() {
      this.reset();
      const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, MAX_NAMESPACES);
      for (const [namespace, bytes] of largest) this.set({ namespace }, bytes);
    },
  });
  new Gauge({
    name: 'envoy_initializer_routes_sidecars_behind',
    help: 'Sidecars that run older routes than they should; on the leader',
    registers,
    collect() {
      this.set(asked.behind());
    },
  });
  new Gauge({
    name: 'envoy_initializer_routes_weight',
    help: 'The share that a rule with several backends gives to each, for at most 100 backends per namespace; on each replica',
    labelNames: ['route', 'backend'],
    registers,
    collect() {
      this.reset();
      for (const { share, ...labels } of asked.weights()) this.set(labels, share);
    },
  });
  const written = new Counter({
    name: 'envoy_initializer_routes_files_written_total',
    help: 'Routes files that this process has written',
    registers,
  });
  const refused = new Counter({
    name: 'envoy_initializer_routes_files_refused_total',
    help: 'Routes files that were not written, because the ConfigMap is not the operator’s',
    registers,
  });
  const taken = new Histogram({
    name: 'envoy_initializer_routes_programmed_seconds',
    help: 'Time from writing a routes file until a sidecar has confirmed it',
    buckets: [0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120],
    registers,
  });
  return {
    /** The size of the file of a namespace. */
    size: (namespace: string, bytes: number) => void sizes.set(namespace, bytes),
    /** The namespace has no file any more. */
    forget: (namespace: string) => void sizes.delete(namespace),
    written: () => written.inc(),
    refused: () => refused.inc(),
    taken: (seconds: number) => taken.observe(seconds),
    /** At the end of a term. */
    reset: () => sizes.clear(),
  };
}

/** Of each namespace: names are their tenants'. */
const MAX_WEIGHTS = 100;

/**
 * The shares of the requests that rules with several backends give to each, named as in the metrics of sidecars. Of a
 * backend that a rule names twice, the sum.
 */
export function weightsOf(routes: readonly Route[]) {
  const counts = new Map<string, number>();
  const weights: { readonly route: string; readonly backend: string; readonly share: number }[] = [];
  for (const route of routes) {
    const { namespace = '' } = route.metadata;
    for (const [rule, { backendRefs = [] }] of (route.spec.rules ?? []).entries()) {
      const total = backendRefs.reduce((sum, { weight = 1 }) => sum + weight, 0);
      if (backendRefs.length < 2 || total === 0) continue;
      const shares = new Map<string, number>();
      for (const { name, namespace: other = namespace, port, weight = 1 } of backendRefs) {
        const backend = `${other}/${name}:${port}`;
        shares.set(backend, (shares.get(backend) ?? 0) + weight / total);
      }
      const count = (counts.get(namespace) ?? 0) + shares.size;
      if (count > MAX_WEIGHTS) continue;
      counts.set(namespace, count);
      for (const [backend, share] of shares) {
        weights.push({ route: `${routeKey(route)} rules[${rule}]`, backend, share });
      }
    }
  }
  return weights;
}
