import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { QueueGauges, QueueMetrics } from '../workqueue/queue.ts';

/** client-go's buckets for queues: powers of ten from 10 µs to 1000 s. */
const QUEUE_BUCKETS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

/** The metrics of a queue. `watch` sets the gauges that each scrape reads; the last call wins. */
export interface MeasuredQueue {
  readonly metrics: QueueMetrics;
  watch(gauges: QueueGauges): void;
}

/**
 * The metrics of queues, each by its name, under client-go's names (util/workqueue/metrics.go), labelled as
 * controller-runtime does.
 */
export function queueMetrics(registry: Registry): (name: string) => MeasuredQueue {
  const labelsOf = (name: string) => ({ name, controller: name });
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
    help: 'Keys that were added again with a delay',
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
    help: 'How long reconciles of keys took',
    labelNames,
    registers,
    buckets: QUEUE_BUCKETS,
  });
  const states = new Map<string, QueueGauges>();
  const gauge = (metric: string, help: string, read: (state: QueueGauges) => number) =>
    new Gauge({
      name: metric,
      help,
      labelNames,
      registers,
      collect() {
        for (const [name, state] of states) this.set(labelsOf(name), read(state));
      },
    });
  gauge('workqueue_depth', 'Keys in the queue', ({ depth }) => depth);
  gauge(
    'workqueue_unfinished_work_seconds',
    'Sum of the time spent on keys that are being reconciled',
    ({ unfinishedWorkSeconds }) => unfinishedWorkSeconds,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Time spent on the key that has been reconciled the longest',
    ({ longestRunningProcessorSeconds }) => longestRunningProcessorSeconds,
  );
  return (name) => {
    const labels = labelsOf(name);
    states.set(name, { depth: 0, unfinishedWorkSeconds: 0, longestRunningProcessorSeconds: 0 });
    return {
      metrics: {
        added: () => adds.inc(labels),
        retried: () => retries.inc(labels),
        queueDuration: (seconds) => waited.observe(labels, seconds),
        workDuration: (seconds) => worked.observe(labels, seconds),
      },
      watch: (gauges) => states.set(name, gauges),
    };
  };
}
