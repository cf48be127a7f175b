import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ControllerMetrics } from '../controller/controller.ts';
import { SECONDS_BUCKETS } from './buckets.ts';

/** The metrics of controllers, each by its name, under controller-runtime's names (internal/controller/metrics). */
export function controllerMetrics(registry: Registry): (controller: string) => ControllerMetrics {
  const registers = [registry];
  const labelNames = ['controller'];
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles by result',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Reconciles that failed',
    labelNames,
    registers,
  });
  const terminal = new Counter({
    name: 'controller_runtime_terminal_reconcile_errors_total',
    help: 'Reconciles that failed with an error that a retry cannot fix',
    labelNames,
    registers,
  });
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long reconciles took',
    labelNames,
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const active = new Gauge({
    name: 'controller_runtime_active_workers',
    help: 'Workers that are reconciling',
    labelNames,
    registers,
  });
  const max = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Number of workers',
    labelNames,
    registers,
  });
  return (controller) => ({
    maxConcurrentReconciles: (workers) => max.set({ controller }, workers),
    activeWorkers: (workers) => active.set({ controller }, workers),
    reconciled(result, seconds) {
      total.inc({ controller, result });
      time.observe({ controller }, seconds);
      if (result === 'error' || result === 'terminal') errors.inc({ controller });
      if (result === 'terminal') terminal.inc({ controller });
    },
  });
}
