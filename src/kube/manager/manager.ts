import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from 'prom-client';
import { WebhookServer } from '../admission/server.ts';
import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../api/resource.ts';
import type { Informer } from '../cache/informer.ts';
import { SharedInformers, type WatchSelection } from '../cache/shared-informers.ts';
import { KubeClient } from '../client/client.ts';
import { type ServedResource, servedResource } from '../client/discovery.ts';
import type { ClientOptions } from '../client/rest-client.ts';
import { Transport } from '../client/transport.ts';
import { Controller } from '../controller/controller.ts';
import type { EventRecorder } from '../events/events.ts';
import { QueuedEventRecorder } from '../events/queued-event-recorder.ts';
import { LeaderElector } from '../leaderelection/leader-elector.ts';
import type { LeaseClient } from '../leaderelection/lease.ts';
import * as prometheus from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { type RepeatOptions, retryLoop, runTaskGroup, type Task } from '../util/task-group.ts';
import { USER_AGENT } from '../util/version.ts';
import { aborted } from '../util/waits.ts';
import { type Clock, systemClock } from '../workqueue/clock.ts';
import { createProbesServer, type ReadinessCheck } from './health-server.ts';
import { runProcess, type ShutdownOptions } from './lifecycle.ts';

/** The clients of the API server that a process uses. */
export interface ApiAccess {
  readonly client: KubeClient;
  /** For the lease alone, over separate connections: no other request can delay a renewal. */
  readonly leaseClient: LeaseClient;
  /** A client like `client` with this guard. */
  guarded(guard: NonNullable<ClientOptions['guard']>): KubeClient;
  close(): Promise<void>;
}

export interface ManagerOptions {
  /** The name of the program, used in its lease, its Events, its metrics and managedFields. */
  readonly name: string;
  /** The name of this replica; default the host name. */
  readonly identity?: string;
  readonly api: ApiAccess;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly wallClock?: () => Date;
  readonly log: Logger;
  readonly registry: Registry;
  /** The namespace of the lease. Without it, or with `enabled` false, this process always leads. */
  readonly leaderElection?: { readonly namespace: string; readonly enabled?: boolean };
  /** The port for the kubelet and Prometheus; default none. */
  readonly probes?: { readonly port: number };
  /** The port for admission reviews; default none. */
  readonly webhook?: { readonly port: number; readonly verifyClients?: boolean };
  /** Default: no delay, and 30 s for the whole shutdown. */
  readonly shutdown?: ShutdownOptions;
}

export interface CreateManagerOptions extends Omit<ManagerOptions, 'api' | 'clock' | 'registry'> {
  readonly config: KubeConfig;
}

/** Where a controller runs, and how often it tries again. */
export interface ControllerScope {
  /** Default: on the leader alone. */
  readonly everyReplica?: boolean;
  /** The longest time from a failure to the next try, in milliseconds; default 1000 s. */
  readonly maxRetryMs?: number;
}

/** Less than the time in which a leader must renew, so that a renewal can be retried. */
const LEASE_TIMEOUT_MS = 4_000;
const SHUTDOWN: ShutdownOptions = { delayMs: 0, timeoutMs: 30_000 };

/**
 * How a part of the process runs: repeatedly, or without `everyMs` once; then its failure ends the process. A failure
 * after which it runs again is by default a line of the log.
 */
export interface PartOptions extends Partial<Omit<RepeatOptions, 'clock'>> {
  /** Resolves when the data that the part needs is available; the part starts then. */
  readonly after?: Task;
}

/**
 * The parts of an operator, and what they share (controller-runtime's Manager). Every replica has caches. Controllers
 * and singletons run on the leader. A term starts when the previous one has ended, and each request of the leader's
 * client has the signal of its term. Add the parts first; `run` starts them, drains them and ends.
 */
export class Manager {
  readonly client: KubeClient;
  /** For requests of the leader: refuses a call unless its signal belongs to the current term. */
  readonly leaderClient: KubeClient;
  /** Throws outside of the term. Call it before each request to a server other than the API server. */
  readonly assertLeading: LeaderElector['assertLeading'];
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  readonly #options: ManagerOptions;
  readonly #recorder: QueuedEventRecorder;
  readonly #election: LeaderElector;
  readonly #informers: SharedInformers;
  readonly #webhooks: WebhookServer | undefined;
  readonly #queueMetrics: ReturnType<typeof prometheus.queueMetrics>;
  readonly #controllerMetrics: ReturnType<typeof prometheus.controllerMetrics>;
  readonly #controllers: Controller[] = [];
  readonly #everywhere: Task[] = [];
  readonly #leading: Task[] = [];
  readonly #checks: ReadinessCheck[] = [];

  constructor(options: ManagerOptions) {
    const { name, api, clock, log, registry, leaderElection, webhook } = options;
    const { identity = hostname(), wallClock = () => new Date(), random = Math.random } = options;
    const { namespace = '', enabled = leaderElection !== undefined } = leaderElection ?? {};
    this.#options = options;
    this.clock = clock;
    this.log = log;
    this.registry = registry;
    this.client = api.client;
    this.#recorder = new QueuedEventRecorder({
      client: api.client,
      clock,
      wallClock,
      random,
      log,
      metrics: prometheus.eventMetrics(registry),
      source: { controller: name, instance: identity },
    });
    this.events = this.#recorder;
    this.#election = new LeaderElector({
      enabled,
      clock,
      wallClock,
      random,
      log,
      events: this.#recorder,
      client: api.leaseClient,
      lease: { namespace, name },
      identity: `${identity}_${randomUUID()}`,
      ...(enabled && { metrics: prometheus.leaderMetrics(registry, name) }),
    });
    this.assertLeading = this.#election.assertLeading;
    this.leaderClient = api.guarded(this.assertLeading);
    this.#queueMetrics = prometheus.queueMetrics(registry);
    this.#controllerMetrics = prometheus.controllerMetrics(registry);
    const metrics = prometheus.cacheMetrics(registry, Date.now);
    this.#informers = new SharedInformers({ client: api.client, clock, log, metrics });
    this.#webhooks =
      webhook &&
      new WebhookServer({
        ...webhook,
        log,
        metrics: prometheus.webhookMetrics(registry),
        now: () => clock.now(),
      });
    if (this.#webhooks) this.addReadyz('webhook', this.#webhooks.failure);
  }

  /** Creates a manager with the system's clock, a client of the API server, and a registry of metrics. Sends nothing yet. */
  static create({ config, ...options }: CreateManagerOptions): Manager {
    const [clock, registry] = [systemClock, prometheus.createRegistry()];
    const transport = new Transport(config, clock, USER_AGENT);
    const leaseTransport = new Transport(config, clock, USER_AGENT);
    const { name: fieldManager, log } = options;
    const common = { clock, log, fieldManager, metrics: prometheus.clientMetrics(registry) };
    const api: ApiAccess = {
      client: new KubeClient({ ...common, transport }),
      leaseClient: new KubeClient({ ...common, transport: leaseTransport, timeoutMs: LEASE_TIMEOUT_MS }),
      guarded: (guard) => new KubeClient({ ...common, transport, guard }),
      async close() {
        await Promise.all([transport.close(), leaseTransport.close()]);
      },
    };
    return new Manager({ ...options, api, clock, registry });
  }

  /** @throws Error without the option `webhook`. */
  get webhooks(): Pick<WebhookServer, 'add' | 'setKeyPair' | 'setClientAuthorities'> {
    if (!this.#webhooks) throw new Error('expected a manager with the option webhook');
    return this.#webhooks;
  }

  /** The informer of these objects on every replica, shared by all callers with the same selection. */
  informer<T extends KubeObject>(resource: Resource<T>, selection?: WatchSelection<T>): Informer<T> {
    return this.#informers.informer(resource, selection);
  }

  /** Whether the API server serves the resource. `until` is a `startWhen` of its informer. */
  served(resource: Resource<KubeObject>): ServedResource {
    const served = servedResource(resource, this);
    this.#everywhere.push(served.run);
    return served;
  }

  /** Adds a controller of the leader, or of each replica. */
  controller(
    name: string,
    workers = 1,
    { everyReplica = false, maxRetryMs }: ControllerScope = {},
  ): Controller {
    const { clock, log } = this;
    const controller = new Controller({
      name,
      workers,
      clock,
      log,
      queueMetrics: this.#queueMetrics(name),
      metrics: this.#controllerMetrics(name),
      events: this.events,
      maxRetryMs,
    });
    this.#controllers.push(controller);
    (everyReplica ? this.#everywhere : this.#leading).push(controller.run);
    return controller;
  }

  /** Adds a part of the leader, which runs in each term until its signal aborts. */
  singleton(name: string, task: Task, options: PartOptions = {}): void {
    this.#leading.push(this.#part(name, task, options));
  }

  /** Adds a part of each replica. Its signal aborts after the leader's parts have ended and callers are drained. */
  everyReplica(name: string, task: Task, options: PartOptions = {}): void {
    this.#everywhere.push(this.#part(name, task, options));
  }

  /** Adds a check to `/readyz`: `failure` returns what is missing, or undefined if the check passes. */
  addReadyz(name: string, failure: () => string | undefined): void {
    this.#checks.push({ name, failure });
  }

  /** Adds a line to `/readyz` that shows what `warning` returns, and never makes the process unready. */
  addReadyzWarning(name: string, warning: () => string | undefined): void {
    this.#checks.push({ name, failure: warning, isWarning: true });
  }

  /**
   * Runs all parts until `stop` aborts, and ends them within the time of `shutdown`. Call it once.
   * Rejects with the first failure of a part, after all parts have ended.
   */
  run(stop: AbortSignal): Promise<void> {
    const { api, clock, log, registry, probes, webhook, shutdown = SHUTDOWN } = this.#options;
    this.addReadyz('shutdown', () => (stop.aborted ? 'shutting down' : undefined));
    const problems = () => [
      this.#election.healthProblem(),
      ...this.#controllers.map((controller) => controller.problem()),
    ];
    const stuck = () => problems().find((problem) => problem !== undefined);
    return runProcess({
      stop,
      shutdown,
      clock,
      log,
      webhooks: this.#webhooks && { server: this.#webhooks, port: webhook?.port ?? 0 },
      probes: probes && {
        port: probes.port,
        server: createProbesServer({ ...probes, clock, registry, checks: this.#checks, stuck }),
      },
      background: [
        (signal) => this.#recorder.run(signal),
        (signal) => this.#informers.run(signal),
        ...this.#everywhere,
      ],
      lead: (ending) =>
        this.#election.run(ending, (leading) => runTaskGroup(leading, [aborted, ...this.#leading])),
      close: () => api.close(),
    });
  }

  #part(name: string, task: Task, { after, everyMs, retryMs, ...options }: PartOptions): Task {
    const { clock, log } = this;
    const { failed = (err) => log.error({ part: name, err }, 'task failed, retrying') } = options;
    return async (signal) => {
      try {
        await after?.(signal);
        if (signal.aborted) return;
        if (everyMs === undefined) await task(signal);
        else await retryLoop(task, { clock, everyMs, retryMs, failed }, signal);
      } catch (err) {
        if (!signal.aborted) log.error({ part: name, err }, 'task failed');
        throw err;
      }
    };
  }
}
