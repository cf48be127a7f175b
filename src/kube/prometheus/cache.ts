import { Gauge, type Registry } from 'prom-client';
import type { CacheMetrics } from '../cache/cache-metrics.ts';

interface Cache {
  /** Milliseconds since 1970; undefined before the first list. */
  heardAt: number | undefined;
}

/** How fresh the caches are. Caches of one resource share a series, which shows the stalest one. */
export function cacheMetrics(registry: Registry, wallClock: () => number): CacheMetrics {
  const caches = new Map<string, Set<Cache>>();
  const registers = [registry];
  const labelNames = ['resource'];
  new Gauge({
    name: 'envoy_initializer_cache_last_contact_timestamp_seconds',
    help: 'Time of the last list or watch event, bookmarks included',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [resource, { oldest }] of states()) {
        if (Number.isFinite(oldest)) this.set({ resource }, oldest / 1000);
      }
    },
  });
  new Gauge({
    name: 'envoy_initializer_cache_synced',
    help: '1 once the cache has the first list',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [resource, { synced }] of states()) this.set({ resource }, synced ? 1 : 0);
    },
  });

  function states() {
    return [...caches].map(([resource, all]) => {
      const heard = [...all].map(({ heardAt }) => heardAt).filter((at) => at !== undefined);
      return [resource, { oldest: Math.min(...heard), synced: heard.length === all.size }] as const;
    });
  }

  return {
    started(resource) {
      const cache: Cache = { heardAt: undefined };
      const all = caches.get(resource) ?? new Set();
      caches.set(resource, all.add(cache));
      return {
        heard: () => {
          cache.heardAt = wallClock();
        },
        ended: () => {
          all.delete(cache);
          if (all.size === 0) caches.delete(resource);
        },
      };
    },
  };
}
