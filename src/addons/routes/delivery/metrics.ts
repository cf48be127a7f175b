import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Weight } from './weights.ts';

/** The delivery of routes, as the leader sees it. */
export interface RouteMetrics {
  /** The size of the file of a namespace. */
  size(namespace: string, bytes: number): void;
  /** The namespace has no file any more. */
  forget(namespace: string): void;
  written(): void;
  refused(): void;
  taken(seconds: number): void;
  /** Reads the numbers of sidecars with older routes, and with an older configuration of Envoy, and weights, at each scrape. */
  watch(behind: () => number, withOlderConfiguration: () => number, weights: () => readonly Weight[]): void;
  /** At the end of a term. */
  reset(): void;
}

/** At most this many namespaces get their own series. */
const MAX_NAMESPACES = 100;

export function routeMetrics(registry: Registry): RouteMetrics {
  const registers = [registry];
  const sizes = new Map<string, number>();
  let behind = () => 0;
  let older = () => 0;
  let asked: () => readonly Weight[] = () => [];
  new Gauge({
    name: 'envoy_initializer_routes_file_bytes',
    help: 'Size of the file of routes for the sidecars of a namespace; on the leader',
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
      this.set(behind());
    },
  });
  new Gauge({
    name: 'envoy_initializer_routes_sidecars_with_older_configuration',
    help: 'Sidecars that follow routes and started before the ConfigMap envoy changed; on the leader',
    registers,
    collect() {
      this.set(older());
    },
  });
  new Gauge({
    name: 'envoy_initializer_routes_weight',
    help: 'The share that a rule with several backends gives to each, for at most 100 backends per namespace; on each replica',
    labelNames: ['route', 'backend'],
    registers,
    collect() {
      this.reset();
      for (const { share, ...labels } of asked()) this.set(labels, share);
    },
  });
  const written = new Counter({
    name: 'envoy_initializer_routes_files_written_total',
    help: 'Files of routes that this process has written',
    registers,
  });
  const refused = new Counter({
    name: 'envoy_initializer_routes_files_refused_total',
    help: 'Files of routes that were not written, because the ConfigMap is not the operator’s',
    registers,
  });
  const taken = new Histogram({
    name: 'envoy_initializer_routes_programmed_seconds',
    help: 'Time from the write of a file of routes until a sidecar has confirmed it',
    buckets: [0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 120],
    registers,
  });
  return {
    size: (namespace, bytes) => void sizes.set(namespace, bytes),
    forget: (namespace) => void sizes.delete(namespace),
    written: () => written.inc(),
    refused: () => refused.inc(),
    taken: (seconds) => taken.observe(seconds),
    watch(routes, configuration, weights) {
      behind = routes;
      older = configuration;
      asked = weights;
    },
    reset: () => sizes.clear(),
  };
}
