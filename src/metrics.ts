import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ControllerMetrics } from './kube/controller-metrics.ts';
import type { EventMetrics } from './kube/event-drops.ts';
import type { LeaderMetrics } from './kube/leader-elector.ts';
import type { KubeObject } from './kube/object.ts';
import type { ClientMetrics } from './kube/rest-client.ts';
import type { NeutronMetrics } from './network/providers/neutron-keeper.ts';
import type { HttpMetrics } from './network/providers/openstack-http.ts';
import type { PolicyMetrics } from './policy/keeper.ts';
import type { CertificateMetrics } from './tls/certificate-metrics.ts';
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

/** The metrics of a queue, and a way to have its gauges read: the last ones given are read at each scrape. */
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
    'Time spent on the keys in work, added up',
    ({ unfinishedWorkSeconds }) => unfinishedWorkSeconds,
  );
  gauge(
    'workqueue_longest_running_processor_seconds',
    'Time spent on the key that has been in work the longest',
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

/** Whether this process leads, under client-go's name. */
export function leaderMetrics(registry: Registry, name: string): LeaderMetrics {
  const status = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this process holds the lease: 1, else 0',
    labelNames: ['name'],
    registers: [registry],
  });
  return { masterStatus: (leading) => status.set({ name }, leading ? 1 : 0) };
}

/** Events that were not recorded, by why. */
export function eventMetrics(registry: Registry): EventMetrics {
  const dropped = new Counter({
    name: 'envoy_initializer_events_dropped_total',
    help: 'Events that were not recorded, by reason',
    labelNames: ['reason'],
    registers: [registry],
  });
  return { dropped: (reason) => dropped.inc({ reason }) };
}

/** What the webhook did, and with which template. */
export interface InjectionMetrics {
  /** A pod was decided: the decision, and for a skip the reason (a closed set each). */
  decided(decision: string, reason: string): void;
  /** A call of a webhook, by its path, was answered after so long with this HTTP status. */
  answered(webhook: string, code: number, seconds: number): void;
  templateAdopted(generation: number): void;
  templateRejected(): void;
}

/** controller-runtime's names for the webhook (pkg/webhook/internal/metrics), our own for what is ours alone. */
export function injectionMetrics(registry: Registry): InjectionMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'controller_runtime_webhook_requests_total',
    help: 'Admission requests by HTTP status code',
    labelNames: ['webhook', 'code'],
    registers,
  });
  const latency = new Histogram({
    name: 'controller_runtime_webhook_latency_seconds',
    help: 'How long admission requests took',
    labelNames: ['webhook'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const injections = new Counter({
    name: 'envoy_initializer_injections_total',
    help: 'Pods decided, by decision and reason',
    labelNames: ['decision', 'reason'],
    registers,
  });
  const generation = new Gauge({
    name: 'envoy_initializer_template_generation',
    help: 'How often a template has been adopted by this process',
    registers,
  });
  const rejected = new Counter({
    name: 'envoy_initializer_template_rejected_total',
    help: 'Templates that were refused for their faults',
    registers,
  });
  const current = new Gauge({
    name: 'envoy_initializer_template_current',
    help: 'Whether pods get what the ConfigMap holds: 1, else 0, as it was refused for its faults',
    registers,
  });
  // A gauge begins with 0, and nothing is known yet.
  current.remove();
  return {
    decided: (decision, reason) => injections.inc({ decision, reason }),
    answered(webhook, code, seconds) {
      requests.inc({ webhook, code: String(code) });
      latency.observe({ webhook }, seconds);
    },
    templateAdopted(count) {
      generation.set(count);
      current.set(1);
    },
    templateRejected() {
      rejected.inc();
      current.set(0);
    },
  };
}

/** Pods whose sidecar is missing or stale, and what is done about them. */
export interface FleetMetrics {
  /** From then on these are asked at each scrape. */
  watch(fleet: {
    readonly findings: () => readonly { readonly kind: string; readonly pod: KubeObject }[];
    /** Why nothing is evicted any more. */
    readonly stopped: () => string | undefined;
  }): void;
}

/** Namespaces that are told apart; the pods of the others count together. */
const MAX_NAMESPACES = 100;

export function fleetMetrics(registry: Registry): FleetMetrics {
  let fleet: Parameters<FleetMetrics['watch']>[0] = { findings: () => [], stopped: () => undefined };
  new Gauge({
    name: 'envoy_initializer_drifted_pods',
    help: 'Pods whose sidecar is missing (missed) or of another state of the template (stale); on the leader',
    labelNames: ['namespace', 'kind'],
    registers: [registry],
    collect() {
      this.reset();
      const told = new Set<string>();
      for (const { kind, pod } of fleet.findings()) {
        const name = pod.metadata.namespace ?? '';
        const namespace = told.has(name) || told.size < MAX_NAMESPACES ? name : '<others>';
        told.add(namespace);
        this.inc({ namespace, kind });
      }
    },
  });
  new Gauge({
    name: 'envoy_initializer_repair_stopped',
    help: 'Whether evicting pods without their sidecar has stopped, as new ones come without it too: 1, else 0',
    registers: [registry],
    collect() {
      this.set(fleet.stopped() === undefined ? 0 : 1);
    },
  });
  return {
    watch(watched) {
      fleet = watched;
    },
  };
}

/** How long certificates last, and whether the API server is told to trust them. */
export function certificateMetrics(registry: Registry): CertificateMetrics {
  const registers = [registry];
  const labelNames = ['certificate'];
  const expiry = new Gauge({
    name: 'envoy_initializer_certificate_expiration_timestamp_seconds',
    help: 'When a certificate expires, in seconds since 1970',
    labelNames,
    registers,
  });
  const inSync = new Gauge({
    name: 'envoy_initializer_ca_bundle_in_sync',
    help: 'Whether every webhook configuration holds the authorities of what is served: 1, else 0',
    registers,
  });
  const rotations = new Counter({
    name: 'envoy_initializer_certificate_rotations_total',
    help: 'Certificates that this process put in the place of an old one',
    labelNames,
    registers,
  });
  return {
    expires: (certificate, at) => expiry.set({ certificate }, at),
    bundleInSync: (is) => inSync.set(is ? 1 : 0),
    rotated: (certificate) => rotations.inc({ certificate }),
  };
}

/** How much of the injection the API server does by itself. */
export function policyMetrics(registry: Registry): PolicyMetrics {
  const policies = new Gauge({
    name: 'envoy_initializer_policies',
    help: 'MutatingAdmissionPolicies that this process keeps, as the leader; 0 where there are to be none or can be none',
    registers: [registry],
  });
  return { kept: (count) => policies.set(count) };
}

/** Requests to OpenStack, and whether it is there. */
export function neutronMetrics(registry: Registry): HttpMetrics & NeutronMetrics {
  const registers = [registry];
  const total = new Counter({
    name: 'envoy_initializer_neutron_requests_total',
    help: 'Requests to Neutron and Keystone by method and status code',
    labelNames: ['method', 'code'],
    registers,
  });
  const time = new Histogram({
    name: 'envoy_initializer_neutron_request_duration_seconds',
    help: 'How long Neutron and Keystone took to answer',
    labelNames: ['method'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const available = new Gauge({
    name: 'envoy_initializer_neutron_available',
    help: 'Whether Neutron answered the leader when it last looked: 1, else 0; absent without credentials',
    registers: [],
  });
  let isWatched = false;
  return {
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ method }, seconds);
    },
    available(is) {
      // Who has no OpenStack should not be told that it is down.
      if (!isWatched) registry.registerMetric(available);
      isWatched = true;
      available.set(is ? 1 : 0);
    },
  };
}
