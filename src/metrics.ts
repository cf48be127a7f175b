import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ClientMetrics } from './kube/client.ts';
import type { ControllerMetrics } from './kube/controller-metrics.ts';
import type { QueueGauges, QueueMetrics } from './workqueue/metrics.ts';

/** From 1 ms to 30 s: an admission and a reconcile both fall in the middle. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** client-go's for queues: from 10 µs to 1000 s, a decade each. */
const QUEUE_BUCKETS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

/** A registry with Node's own metrics in it. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/**
 * The metrics of one queue under client-go's names (util/workqueue/metrics.go), labelled as controller-runtime does.
 * `gauges` is read at each scrape.
 */
export function queueMetrics(
  registry: Registry,
  name: string,
): { metrics: QueueMetrics; watch(gauges: QueueGauges): void } {
  const labels = { name, controller: name };
  const labelNames = ['name', 'controller'];
  const registers = [registry];
  const adds = new Counter({
    name: 'workqueue_adds_total',
    help: 'Keys added to the queue',
    labelNames,
    registers,
  });
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Keys that were to come back later',
    labelNames,
    registers,
  });
  const waited = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'How long keys waited in the queue',
    labelNames,
    registers,
    buckets: QUEUE_BUCKETS,
  });
  const worked = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'How long keys were worked on',
    labelNames,
    registers,
    buckets: QUEUE_BUCKETS,
  });
  const gauge = (metric: string, help: string, read: () => number) =>
    new Gauge({
      name: metric,
      help,
      labelNames,
      registers,
      collect() {
        this.set(labels, read());
      },
    });
  return {
    metrics: {
      added: () => adds.inc(labels),
      retried: () => retries.inc(labels),
      queueDuration: (seconds) => waited.observe(labels, seconds),
      workDuration: (seconds) => worked.observe(labels, seconds),
    },
    watch(gauges) {
      gauge('workqueue_depth', 'Keys in the queue', () => gauges.depth);
      gauge(
        'workqueue_unfinished_work_seconds',
        'Time spent on the keys in work, added up',
        () => gauges.unfinishedWorkSeconds,
      );
      gauge(
        'workqueue_longest_running_processor_seconds',
        'Time spent on the key that has been in work the longest',
        () => gauges.longestRunningProcessorSeconds,
      );
    },
  };
}

/** The metrics of one controller under controller-runtime's names (internal/controller/metrics). */
export function controllerMetrics(registry: Registry, controller: string): ControllerMetrics {
  const labels = { controller };
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
    help: 'Reconciles that failed in a way that trying again cannot mend',
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
    help: 'Workers at work',
    labelNames,
    registers,
  });
  const max = new Gauge({
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'Workers there are',
    labelNames,
    registers,
  });
  return {
    maxConcurrentReconciles: (workers) => max.set(labels, workers),
    activeWorkers: (workers) => active.set(labels, workers),
    reconciled(result, seconds) {
      total.inc({ controller, result });
      time.observe(labels, seconds);
      if (result === 'error' || result === 'terminal') errors.inc(labels);
      if (result === 'terminal') terminal.inc(labels);
    },
  };
}

/** Requests to the API server under client-go's names. */
export function clientMetrics(registry: Registry): ClientMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server by method and status code',
    labelNames: ['method', 'code'],
    registers,
  });
  const time = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long the API server took to answer',
    labelNames: ['verb'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  return {
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ verb: method }, seconds);
    },
  };
}
