import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { certificateMetrics } from '../certificates/metrics.ts';
import { certificateDuty } from '../certificates/setup.ts';
import { fleetMetrics } from '../drift/metrics.ts';
import { fleetDuty } from '../drift/setup.ts';
import { injectionMetrics } from '../injector/metrics/injection.ts';
import { templateMetrics } from '../injector/metrics/template.ts';
import { namespaceLabels } from '../injector/namespace-labels.ts';
import { NewPodEvents } from '../injector/new-pod-events.ts';
import { webhookDuty } from '../injector/setup.ts';
import { templateDuty } from '../injector/template-store.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { apiAccess } from '../kube/client/access.ts';
import { usableKubeConfig } from '../kube/client/kubeconfig/usable-kube-config.ts';
import { controllerMaker } from '../kube/controller/leader-controller.ts';
import { ReconcileWatchdog } from '../kube/controller/reconcile-watchdog.ts';
import { QueuedEventRecorder } from '../kube/events/queued-event-recorder.ts';
import { leadership } from '../kube/leaderelection/leadership.ts';
import { createProbesServer } from '../kube/manager/health-server.ts';
import { limitHeapGrowth } from '../kube/manager/heap.ts';
import { listen } from '../kube/manager/listen.ts';
import { createLogger, type LogVerbosity } from '../kube/manager/logger.ts';
import { createRegistry } from '../kube/manager/registry.ts';
import { ShutdownBudget } from '../kube/manager/shutdown.ts';
import { cacheMetrics } from '../kube/prometheus/cache.ts';
import { clientMetrics } from '../kube/prometheus/client.ts';
import { eventMetrics } from '../kube/prometheus/events.ts';
import { leaderMetrics } from '../kube/prometheus/leader.ts';
import { watchdogMetrics } from '../kube/prometheus/watchdog.ts';
import { webhookMetrics } from '../kube/prometheus/webhook.ts';
import { aborted } from '../kube/util/linked-abort.ts';
import { sleep } from '../kube/util/sleep.ts';
import { together } from '../kube/util/together.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { systemClock } from '../kube/workqueue/clock.ts';
import { createAttachHandler } from '../network/pods/webhook.ts';
import { networkDuty } from '../network/setup.ts';
import { policyMetrics } from '../policies/metrics.ts';
import { policyDuty } from '../policies/setup.ts';
import type { OperatorOptions } from './options.ts';
import { preflight } from './preflight.ts';

const COMPONENT = 'envoy-initializer';
/** The API server waits no longer than this for an answer (timeoutSeconds of deploy/base/webhook.yaml). */
const CLOSE_GRACE_MS = 5_000;
/** What the last steps of a shutdown need: answers under way, the Events that are left. */
const CLOSING_MS = CLOSE_GRACE_MS + 3_000;

/**
 * Runs the webhook and, while leading, the Network controller, until `stop` aborts. This is where everything is wired:
 * nothing below starts by itself. Resolves with the process's exit code: 0 as told, 1 when it cannot go on.
 * @throws UsageError for options that do not go together, and a kubeconfig that cannot be used.
 */
export async function serve(options: OperatorOptions, stop: AbortSignal): Promise<0 | 1> {
  if ((options.tlsCertFile === undefined) !== (options.tlsKeyFile === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-key-file go together: give both, or neither');
  }
  if (options.shutdownDelay > options.shutdownTimeout - CLOSING_MS) {
    throw new UsageError(
      `--shutdown-delay must be at least ${CLOSING_MS / 1000}s shorter than --shutdown-timeout, which is ${options.shutdownTimeout / 1000}s`,
    );
  }
  const config = usableKubeConfig(options);
  const { log, verbosity } = createLogger(options.logLevel, options.logFormat);
  try {
    return await run({ options, config, log, verbosity, stop });
  } catch (err) {
    log.fatal({ err }, 'cannot go on');
    return 1;
  }
}

interface Run {
  readonly options: OperatorOptions;
  readonly config: KubeConfig;
  readonly log: Logger;
  readonly verbosity: LogVerbosity;
  readonly stop: AbortSignal;
}

async function run({ options, config, log, verbosity, stop }: Run): Promise<0 | 1> {
  const clock = systemClock;
  const registry = createRegistry();
  const api = apiAccess({
    ...{ config, clock, log, metrics: clientMetrics(registry) },
    cacheMetrics: cacheMetrics(registry, Date.now),
  });
  const identity = hostname();
  const events = new QueuedEventRecorder({
    client: api.client,
    clock,
    wallClock: () => new Date(),
    source: { controller: COMPONENT, instance: identity },
    log,
    metrics: eventMetrics(registry),
  });
  const election = leadership({
    enabled: options.leaderElect,
    client: api.leaseClient,
    clock,
    lease: { namespace: options.namespace, name: COMPONENT },
    identity: `${identity}_${randomUUID()}`,
    log,
    metrics: leaderMetrics(registry, COMPONENT),
    events,
  });
  const leaderClient = api.guarded(election.assertLeading);
  const watchdog = new ReconcileWatchdog(clock);
  watchdogMetrics(registry, watchdog, Date.now);
  const makeController = controllerMaker({ registry, clock, log, watchdog });
  const networks = networkDuty({
    client: api.client,
    leaderClient,
    mayRequest: election.assertLeading,
    events,
    makeController,
    registry,
    clock,
    log,
    workers: options.workers,
    resyncMs: options.resync,
    defaultProvider: options.networkProvider,
    sharedNamespaces: options.sharedNetworkNamespaces,
    clusterCidrs: options.clusterCidrs,
    networkRanges: options.networkRanges,
    networkLargest: options.networkLargest,
    namespace: options.namespace,
    neutronSecret: options.neutronSecret,
    nodeAgentNamespace: options.nodeAgentNamespace,
  });
  const { namespace, configmap: configMap } = options;
  const template = templateDuty({
    client: api.client,
    clock,
    log,
    events,
    metrics: templateMetrics(registry),
    namespace,
    configMap,
  });
  const namespaces = namespaceLabels(api.client, clock, informerLog(log, 'namespaces'));
  const fleet = fleetDuty({
    options,
    client: api.client,
    leaderClient,
    template,
    namespaces,
    events,
    metrics: fleetMetrics(registry),
    makeController,
    clock,
    log,
  });
  const { attach } = networks;
  const newPodEvents = new NewPodEvents(events, () => clock.now());
  fleet.onPod((pod) => newPodEvents.seen(pod));
  const webhook = webhookDuty({
    options,
    events: newPodEvents,
    template,
    namespaces,
    routes: { '/attach': createAttachHandler({ attach, log }) },
    metrics: { ...injectionMetrics(registry), ...webhookMetrics(registry) },
    clock,
    log,
  });
  const policies = policyDuty({
    options,
    client: api.client,
    leaderClient,
    template,
    clock,
    log,
    metrics: policyMetrics(registry),
    makeController,
  });
  const certificates = certificateDuty({
    options,
    client: api.client,
    leaderClient,
    clock,
    log,
    metrics: certificateMetrics(registry),
    onKeyPair: webhook.setKeyPair,
    onClientAuthorities: webhook.setClientAuthorities,
  });
  const probes = createProbesServer({
    clock,
    registry,
    checks: [
      ...webhook.checks,
      { name: 'certificates', failure: certificates.failure },
      { name: 'shutdown', failure: () => (stop.aborted ? 'the process is ending' : undefined) },
    ],
    stuck: () => election.healthProblem() ?? watchdog.problem(),
    verbosity,
    debug: { controllers: () => [...networks.debug(), ...fleet.debug(), policies.debug()] },
  });

  const heap = limitHeapGrowth(clock);
  const budget = new ShutdownBudget({ clock, log, totalMs: options.shutdownTimeout });
  const errors: unknown[] = [];
  const failed = new AbortController();
  const watched = (running: Promise<void>) =>
    running.catch((error: unknown) => {
      errors.push(error);
      failed.abort();
    });
  const ending = AbortSignal.any([stop, failed.signal]);
  // Outlives `ending`: what answers the API server goes on while this replica drains.
  const background = new AbortController();
  let [running, led] = [Promise.resolve(), Promise.resolve()];
  try {
    await certificates.prepare();
    await listen(probes, options.metricsPort);
    const port = await webhook.listen();
    log.info({ webhook: port, metrics: portOf(probes) }, 'listening');
    running = watched(
      together(background.signal, [
        (signal) => events.run(signal),
        networks.watch,
        fleet.watch,
        template.watch,
        namespaces.watch,
        certificates.run,
        policies.watch,
        (signal) => preflight({ client: api.client, clock, log, flags: options }, signal),
      ]),
    );
    led = watched(
      election.run(ending, (leading) =>
        together(leading, [networks.reconcile, fleet.reconcile, certificates.lead, policies.lead]),
      ),
    );
    await aborted(ending);
    budget.start();
    const delayMs = failed.signal.aborted ? 0 : options.shutdownDelay;
    log.info({ delayMs }, 'shutting down: not ready, draining');
    // kube-proxy and the API server go on sending for a moment to an endpoint that is being taken out: to its address,
    // and by the connections that they keep. The answers give those up: closing one under a call would fail the call.
    webhook.drain();
    const drained = Promise.all([led, sleep(clock, delayMs)]);
    await budget.wait('drain', Promise.race([drained, running]), CLOSING_MS);
  } finally {
    await webhook.close(Math.min(CLOSE_GRACE_MS, budget.leftMs));
    background.abort(new Error('the process is ending'));
    await budget.wait('background', running, 0);
    heap.cancel();
    probes.close();
    probes.closeAllConnections();
    await budget.wait('connections', api.close(), 0);
  }
  if (errors.length > 0) throw errors[0];
  log.info('ended');
  return 0;
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
