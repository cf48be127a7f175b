import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { VERSION } from '../util/version.ts';

/** How often the event loop's lag is sampled, which wakes the process. Every 10 ms, the default, take half a percent of a core. */
const LAG_SAMPLE_MS = 100;

/** A registry with Node's metrics (memory, CPU, garbage collection, event loop lag), and the version. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  const build = new Gauge({
    name: 'envoy_initializer_build_info',
    help: 'Always 1; the label is the running version',
    labelNames: ['version'],
    registers: [registry],
  });
  build.set({ version: VERSION }, 1);
  return registry;
}
