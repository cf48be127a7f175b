import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { VERSION } from '../util/version.ts';

/** A registry with Node's own metrics in it (memory, CPU, garbage, lag of the event loop), and which version this is. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: 'envoy_initializer_build_info',
    help: 'Always 1; its label says which version runs',
    labelNames: ['version'],
    registers: [registry],
  });
  build.set({ version: VERSION }, 1);
  return registry;
}
