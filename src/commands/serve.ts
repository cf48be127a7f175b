import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { hostname } from 'node:os';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import type { ServeOptions } from '../config.ts';
import { loadKubeConfig } from '../kube/load-config.ts';
import { QueuedEventRecorder } from '../kube/queued-event-recorder.ts';
import { sleep } from '../kube/sleep.ts';
import { createLogger, type LogVerbosity } from '../log.ts';
import { certificateMetrics } from '../metrics/certificate.ts';
import { clientMetrics } from '../metrics/client.ts';
import { eventMetrics } from '../metrics/events.ts';
import { fleetMetrics } from '../metrics/fleet.ts';
import { injectionMetrics } from '../metrics/injection.ts';
import { leaderMetrics } from '../metrics/leader.ts';
import { policyMetrics } from '../metrics/policy.ts';
import { createRegistry } from '../metrics/registry.ts';
import { templateMetrics } from '../metrics/template.ts';
import { webhookMetrics } from '../metrics/webhook.ts';
import { createProbesServer } from '../probes.ts';
import { NewPodEvents } from '../webhook/new-pod-events.ts';
import { systemClock } from '../workqueue/clock.ts';
import { apiAccess } from './api-access.ts';
import { certificateDuty } from './certificate-duty.ts';
import type { ExitCode } from './cli.ts';
import { fleetDuty } from './fleet-duty.ts';
import { limitHeapSlack } from './heap-slack.ts';
import { informerLog } from './informer-log.ts';
import { leadership } from './leadership.ts';
import { controllerMaker } from './led-controller.ts';
import { listen } from './listen.ts';
import { namespaceLabels } from './namespace-labels.ts';
import { networkDuty } from './network-duty.ts';
import { policyDuty } from './policy-duty.ts';
import { preflight } from './preflight.ts';
import { templateDuty } from './template-duty.ts';
import { UsageError } from './terminal.ts';
import { webhookDuty } from './webhook-duty.ts';

const COMPONENT = 'envoy-initializer';

/**
 * Runs the webhook and, while leading, the Network controller, until `stop` aborts. This is where everything is wired:
 * nothing below starts by itself. Resolves with the process's exit code.
 * @throws UsageError for options that do not go together, and a kubeconfig that cannot be used.
 */
export async function serve(options: ServeOptions, stop: AbortSignal): Promise<ExitCode> {
  if ((options.tlsCertFile === undefined) !== (options.tlsKeyFile === undefined)) {
    throw new UsageError('--tls-cert-file and --tls-key-file go together: give both, or neither');
  }
  const config = usableKubeConfig(options);
  const { log, verbosity } = createLogger(options.logLevel, options.logFormat);
  try {
    return await run({ options, config, log, verbosity, stop });
  } catch (err) {
    log.fatal({ err }, 'cannot go on');
    return 2;
  }
}

interface Run {
  readonly options: ServeOptions;
  readonly config: KubeConfig;
  readonly log: Logger;
  readonly verbosity: LogVerbosity;
  readonly stop: AbortSignal;
}

function usableKubeConfig(options: ServeOptions): KubeConfig {
  try {
    return loadKubeConfig(options);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--kubeconfig: ${reason}`, { cause });
  }
}

async function run({ options, config, log, verbosity, stop }: Run): Promise<ExitCode> {
  const clock = systemClock;
  const registry = createRegistry();
  const api = apiAccess({ config, clock, log, metrics: clientMetrics(registry) });
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
  const makeController = controllerMaker({ registry, clock, log });
  const networks = networkDuty({
    client: api.client,
    leaderClient,
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
    attach,
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
    clock,
    log,
    metrics: certificateMetrics(registry),
    onKeyPair: webhook.setKeyPair,
  });
  const probes = createProbesServer({
    registry,
    checks: [
      ...webhook.checks,
      { name: 'certificates', failure: certificates.failure },
      { name: 'shutdown', failure: () => (stop.aborted ? 'the process is ending' : undefined) },
    ],
    verbosity,
    debug: { controllers: () => [...networks.debug(), ...fleet.debug(), policies.debug()] },
  });

  // Outlives `stop`: what answers the API server goes on until nobody asks any more.
  const background = new AbortController();
  const heap = limitHeapSlack(clock);
  let running: Promise<unknown> = Promise.resolve();
  try {
    await listen(probes, options.metricsPort);
    const port = await webhook.listen();
    log.info({ webhook: port, metrics: portOf(probes) }, 'listening');
    running = Promise.all([
      events.run(background.signal),
      networks.watch(background.signal),
      fleet.watch(background.signal),
      template.watch(background.signal),
      namespaces.watch(background.signal),
      certificates.run(background.signal),
      policies.watch(background.signal),
      preflight({ client: api.client, clock, log, flags: options }, background.signal),
    ]);
    const grace = graceAfter(stop, options.shutdownDelay, log, webhook.drain);
    const led = election.run(stop, async (leading) => {
      await Promise.all([
        networks.reconcile(leading),
        fleet.reconcile(leading),
        certificates.lead(leading),
        policies.lead(leading),
      ]);
    });
    // What runs in the background ends only with an error that nobody can mend.
    await Promise.race([Promise.all([led, grace]), running]);
    return 0;
  } finally {
    await webhook.close();
    background.abort(new Error('the process is ending'));
    // Its error, if any, is on its way already.
    await running.catch(() => undefined);
    heap.cancel();
    probes.close();
    probes.closeAllConnections();
    await api.close();
    log.info('ended');
  }
}

/**
 * kube-proxy and the API server go on sending for a moment to an endpoint that is being taken out: to its address, and
 * by the connections that they keep. Those are given up by the answers, since one that is closed while a call is on its
 * way fails that call.
 */
async function graceAfter(stop: AbortSignal, delayMs: number, log: Logger, drain: () => void): Promise<void> {
  if (!stop.aborted) await once(stop, 'abort');
  log.info({ delayMs }, 'told to end: not ready any more, answering until nobody asks');
  drain();
  await sleep(systemClock, delayMs);
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
