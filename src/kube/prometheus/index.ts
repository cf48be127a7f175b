import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../util/version.ts';

/** From 1 ms to 30 s. */
export const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** client-go's buckets for queues: powers of ten from 10 µs to 1000 s. */
const QUEUE_BUCKETS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

/** Each metric, under the name that client-go or controller-runtime gives it, if they have it. */
const HELP = {
  envoy_initializer_cache_last_contact_timestamp_seconds:
    'Time of the last list or watch event, bookmarks included',
  envoy_initializer_build_info: 'Always 1; the label is the running version',
  envoy_initializer_cache_synced: '1 once the cache has the first list',
  rest_client_requests_total: 'Requests to the API server by method and status code',
  rest_client_request_duration_seconds: 'How long the API server took to answer',
  envoy_initializer_writes_refused_total:
    'Writes that the API server, a policy or a webhook refused, by resource and status code',
  controller_runtime_reconcile_total: 'Reconciles by result',
  controller_runtime_reconcile_errors_total: 'Reconciles that failed',
  controller_runtime_terminal_reconcile_errors_total:
    'Reconciles that failed with an error that a retry cannot fix',
  controller_runtime_reconcile_time_seconds: 'How long reconciles took',
  controller_runtime_active_workers: 'Workers that are reconciling',
  controller_runtime_max_concurrent_reconciles: 'Number of workers',
  envoy_initializer_events_dropped_total: 'Events that were not recorded, by reason',
  leader_election_master_status: '1 if this process holds the lease, else 0',
  workqueue_adds_total: 'Keys added to the queue',
  workqueue_retries_total: 'Keys that were added again with a delay',
  workqueue_queue_duration_seconds: 'How long keys waited in the queue',
  workqueue_work_duration_seconds: 'How long reconciles of keys took',
  workqueue_depth: 'Keys in the queue',
  workqueue_unfinished_work_seconds: 'Sum of the time spent on keys that are being reconciled',
  workqueue_longest_running_processor_seconds: 'Time spent on the key that has been reconciled the longest',
  envoy_initializer_controller_term_running: '1 while this leader works on the queue',
  envoy_initializer_controller_heartbeat_timestamp_seconds:
    'Time when the heartbeat last passed through the queue; absent if not leader',
  envoy_initializer_controller_last_reconcile_timestamp_seconds: 'Time when the last reconcile ended',
  controller_runtime_webhook_requests_total: 'Admission requests by HTTP status code',
  controller_runtime_webhook_latency_seconds: 'How long admission requests took',
  controller_runtime_webhook_requests_in_flight: 'Admission requests that are in flight',
  envoy_initializer_webhook_refused_total: 'Calls and connections that were refused to protect others',
  envoy_initializer_webhook_connections: 'Open connections to the webhook',
} as const;

type Name = keyof typeof HELP;
type Labels = Readonly<Record<string, string>>;

/** A metric of this library; or any other, with its help. */
type Metric = Name | readonly [name: string, help: string];

/** Makers of the metrics of a registry. */
export function metricsIn(registry: Registry) {
  const options = (metric: Metric, labelNames: string[]) => {
    const [name, help] = typeof metric === 'string' ? [metric, HELP[metric]] : metric;
    return { name, help, labelNames, registers: [registry] };
  };
  return {
    counter: (name: Metric, ...labels: string[]) => new Counter(options(name, labels)),
    gauge: (name: Metric, ...labels: string[]) => new Gauge(options(name, labels)),
    histogram: (name: Metric, buckets: number[], ...labels: string[]) =>
      new Histogram({ ...options(name, labels), buckets }),
    /** A gauge whose series are read at each scrape; one without a value is left out. */
    read(name: Name, labels: string[], series: () => Iterable<[Labels, number | undefined]>): void {
      new Gauge({
        ...options(name, labels),
        collect() {
          this.reset();
          for (const [of, value] of series()) if (value !== undefined) this.set(of, value);
        },
      });
    },
  };
}

/** How fresh the caches are. Caches of one resource share a series, which shows the stalest one. */
export function cacheMetrics(registry: Registry, wallClock: () => number) {
  /** `heardAt` is undefined before the first list. */
  const caches = new Set<{ readonly resource: string; heardAt: number | undefined }>();
  const { read } = metricsIn(registry);
  const series = (toValue: (heard: readonly (number | undefined)[]) => number | undefined) => () =>
    Array.from(
      Map.groupBy(caches, ({ resource }) => resource),
      ([resource, all]): [Labels, number | undefined] => [
        { resource },
        toValue(all.map(({ heardAt }) => heardAt)),
      ],
    );
  const oldest = series((heard) => {
    const known = heard.filter((at) => at !== undefined);
    return known.length > 0 ? Math.min(...known) / 1000 : undefined;
  });
  read('envoy_initializer_cache_last_contact_timestamp_seconds', ['resource'], oldest);
  const synced = series((heard) => (heard.includes(undefined) ? 0 : 1));
  read('envoy_initializer_cache_synced', ['resource'], synced);
  return {
    /** A cache of the resource (its plural name) starts to list and watch. */
    started(resource: string) {
      const cache: { readonly resource: string; heardAt: number | undefined } = {
        resource,
        heardAt: undefined,
      };
      caches.add(cache);
      return {
        /** A list of all objects or an event of a watch has arrived; bookmarks count. */
        heard(): void {
          cache.heardAt = wallClock();
        },
        ended: (): void => void caches.delete(cache),
      };
    },
  };
}
export type CacheMetrics = ReturnType<typeof cacheMetrics>;

export function clientMetrics(registry: Registry) {
  const { counter, histogram } = metricsIn(registry);
  const total = counter('rest_client_requests_total', 'method', 'code');
  const time = histogram('rest_client_request_duration_seconds', SECONDS_BUCKETS, 'verb');
  const refused = counter('envoy_initializer_writes_refused_total', 'resource', 'code');
  return {
    /** A write was refused, and not because another writer was faster. Dry runs do not count. */
    writeRefused: (resource: string, code: string): void => refused.inc({ resource, code }),
    /** An attempt ended. `code` is its HTTP status, or `<error>` without one. */
    requestFinished(method: string, code: string, seconds: number): void {
      total.inc({ method, code });
      time.observe({ verb: method }, seconds);
    },
  };
}
export type ClientMetrics = ReturnType<typeof clientMetrics>;

/** How a reconcile ended: the values of controller-runtime's label `result`, and `terminal`. */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after' | 'terminal';

/** The metrics of controllers, each by its name. */
export function controllerMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  const of = 'controller';
  const total = counter('controller_runtime_reconcile_total', of, 'result');
  const errors = counter('controller_runtime_reconcile_errors_total', of);
  const terminal = counter('controller_runtime_terminal_reconcile_errors_total', of);
  const time = histogram('controller_runtime_reconcile_time_seconds', SECONDS_BUCKETS, of);
  const active = gauge('controller_runtime_active_workers', of);
  const max = gauge('controller_runtime_max_concurrent_reconciles', of);
  const term = gauge('envoy_initializer_controller_term_running', of);
  const heartbeat = gauge('envoy_initializer_controller_heartbeat_timestamp_seconds', of);
  const last = gauge('envoy_initializer_controller_last_reconcile_timestamp_seconds', of);
  return (controller: string) => ({
    termBegan(workers: number): void {
      max.set({ controller }, workers);
      term.set({ controller }, 1);
      heartbeat.setToCurrentTime({ controller });
    },
    termEnded(): void {
      term.set({ controller }, 0);
      heartbeat.remove({ controller });
    },
    /** A heartbeat has passed through the queue. */
    heartbeat: (): void => heartbeat.setToCurrentTime({ controller }),
    /** A reconcile ended, also one that its term gave up. */
    reconcileEnded: (): void => last.setToCurrentTime({ controller }),
    activeWorkers: (workers: number): void => active.set({ controller }, workers),
    reconciled(result: ReconcileResult, seconds: number): void {
      total.inc({ controller, result });
      time.observe({ controller }, seconds);
      if (result === 'error' || result === 'terminal') errors.inc({ controller });
      if (result === 'terminal') terminal.inc({ controller });
    },
  });
}
export type ControllerMetrics = ReturnType<ReturnType<typeof controllerMetrics>>;

/** Why an Event was dropped: full queue; budget of the object; refused by the server, or the server was unreachable. */
export type DropReason = 'queue_full' | 'rate_limited' | 'refused' | 'unreachable';

export function eventMetrics(registry: Registry) {
  const dropped = metricsIn(registry).counter('envoy_initializer_events_dropped_total', 'reason');
  return { dropped: (reason: DropReason): void => dropped.inc({ reason }) };
}
export type EventMetrics = ReturnType<typeof eventMetrics>;

export function leaderMetrics(registry: Registry, name: string) {
  const status = metricsIn(registry).gauge('leader_election_master_status', 'name');
  return { masterStatus: (leading: boolean): void => status.set({ name }, leading ? 1 : 0) };
}
export type LeaderMetrics = ReturnType<typeof leaderMetrics>;

/** The state of a queue, read at each scrape. */
export interface QueueGauges {
  /** Keys in the queue, including those in work that will be queued again. */
  readonly depth: number;
  /** Sum of the times that the keys in work have taken so far. */
  readonly unfinishedWorkSeconds: number;
  /** Time that the oldest key in work has taken so far. */
  readonly longestRunningProcessorSeconds: number;
}

/** The metrics of queues, each by its name, labelled as controller-runtime does. */
export function queueMetrics(registry: Registry) {
  const { counter, histogram, read } = metricsIn(registry);
  const labelNames = ['name', 'controller'];
  const adds = counter('workqueue_adds_total', ...labelNames);
  const retries = counter('workqueue_retries_total', ...labelNames);
  const waited = histogram('workqueue_queue_duration_seconds', QUEUE_BUCKETS, ...labelNames);
  const worked = histogram('workqueue_work_duration_seconds', QUEUE_BUCKETS, ...labelNames);
  const queues = new Map<string, QueueGauges>();
  const labelsOf = (name: string) => ({ name, controller: name });
  const gauge = (metric: Name, key: keyof QueueGauges) =>
    read(metric, labelNames, () => Array.from(queues, ([name, queue]) => [labelsOf(name), queue[key]]));
  gauge('workqueue_depth', 'depth');
  gauge('workqueue_unfinished_work_seconds', 'unfinishedWorkSeconds');
  gauge('workqueue_longest_running_processor_seconds', 'longestRunningProcessorSeconds');
  return (name: string) => {
    const labels = labelsOf(name);
    queues.set(name, { depth: 0, unfinishedWorkSeconds: 0, longestRunningProcessorSeconds: 0 });
    return {
      /** A key was added that was not in the queue. */
      added: (): void => adds.inc(labels),
      /** A key was added with a delay, after a failure or by request. */
      retried: (): void => retries.inc(labels),
      /** A key was handed out, this long after it was added. */
      queueDuration: (seconds: number): void => waited.observe(labels, seconds),
      /** A key was done, this long after it was handed out. */
      workDuration: (seconds: number): void => worked.observe(labels, seconds),
      /** Sets the gauges that each scrape reads; the last call wins. */
      watch: (gauges: QueueGauges): void => void queues.set(name, gauges),
    };
  };
}
export type QueueMetrics = ReturnType<ReturnType<typeof queueMetrics>>;

/** The webhooks, each by its path. */
export function webhookMetrics(registry: Registry) {
  const { counter, gauge, histogram, read } = metricsIn(registry);
  const requests = counter('controller_runtime_webhook_requests_total', 'webhook', 'code');
  const latency = histogram('controller_runtime_webhook_latency_seconds', SECONDS_BUCKETS, 'webhook');
  const underWay = gauge('controller_runtime_webhook_requests_in_flight', 'webhook');
  const refused = counter('envoy_initializer_webhook_refused_total', 'reason');
  return {
    /** A call has begun, or has ended. */
    inFlight: (webhook: string, change: 1 | -1): void => underWay.inc({ webhook }, change),
    /** A call was answered with this HTTP status after this time; the path is empty for an unknown webhook. */
    answered(webhook: string, code: number, seconds: number): void {
      requests.inc({ webhook, code: String(code) });
      latency.observe({ webhook }, seconds);
    },
    /** A call or a connection was refused to protect others. */
    refused: (reason: string): void => refused.inc({ reason }),
    /** Sets the function that returns the number of open connections. */
    watchConnections: (count: () => number): void =>
      read('envoy_initializer_webhook_connections', [], () => [[{}, count()]]),
  };
}
export type WebhookMetrics = ReturnType<typeof webhookMetrics>;

/** How often the event loop's lag is sampled, which wakes the process. Every 10 ms, the default, take half a percent of a core. */
const LAG_SAMPLE_MS = 100;

/** A registry with Node's metrics (memory, CPU, garbage collection, event loop lag), and the version. */
export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  const build = metricsIn(registry).gauge('envoy_initializer_build_info', 'version');
  build.set({ version: VERSION }, 1);
  return registry;
}
