import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { NAMESPACES, SECRETS } from '../../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { SECONDS_BUCKETS } from '../../kube/prometheus/index.ts';
import { aborted } from '../../kube/util/waits.ts';
import type { ProviderContext, SetUpProvider } from '../../networks/providers.ts';
import { NeutronConnection } from './connection.ts';
import { type NeutronMetrics, neutronCheck } from './garbage-collector.ts';
import { NeutronProvider } from './neutron.ts';
import type { HttpMetrics } from './openstack/http.ts';
import { PortGarbageCollector, type PortGarbageCollectorOptions } from './pods/port-garbage-collector.ts';
import { NeutronPodPorts } from './pods/ports.ts';
import type { NeutronPort } from './resources.ts';
import { NeutronStore } from './store.ts';

const CHECK_PERIOD_MS = 30_000;
/** Of the queue of pods whose ports are removed. */
const WORKERS = 4;

export interface NeutronOptions {
  readonly neutronSecret: string;
  /** Whether pods can attach to networks of Neutron. */
  readonly neutronPods: boolean;
}

/** The provider neutron, kept in step with its Secret on every replica; the leader looks after Neutron. */
export const neutron =
  (options: NeutronOptions): SetUpProvider =>
  (manager, context) => {
    const { neutronSecret: name, neutronPods: attachesPods } = options;
    const { namespace, networks, enqueueAll, after } = context;
    const { client, registry, clock, log } = manager;
    const secretName = `${namespace}/${name}`;
    const metrics = neutronMetrics(registry);
    const connection = new NeutronConnection({
      clock,
      secretName,
      metrics,
      guard: manager.assertLeading,
      onChange(problem) {
        store.reset();
        if (problem === undefined) log.info({ secret: secretName }, 'OpenStack credentials read');
        // Without a Secret, most clusters do not use OpenStack: a Network of the provider says it in its status.
        else if (connection.hasBeenConfigured)
          log.warn({ secret: secretName, reason: problem }, 'provider neutron is not set up');
        enqueueAll();
      },
    });
    const api = () => connection.api();
    const store = new NeutronStore({ api, clock });
    const clusterId = clusterIdOf(client);
    const portGarbage = setUpPortGarbageCollector(manager, context, { api, store, clusterId });
    const onPort = (port: NeutronPort) => portGarbage.learn(port);
    const { pods, enqueue, usageOf, definitions } = context;
    const ports = new NeutronPodPorts({ api, store, onPort, pods, onRefusal: enqueue });
    const attaching = { attachesPods, definitions, usageOf, ports };
    const provider = new NeutronProvider({ api, store, clusterId, ...attaching });
    const known = (key: ObjectKey) => networks.get(key);
    const removeLeftovers = neutronCheck({ client, store, provider, clusterId, known, metrics, log });
    const secrets = manager.informer(SECRETS, { namespace, fieldSelector: `metadata.name=${name}` });
    const update = () => connection.update(secrets.lister.get(secretName));
    secrets.addEventHandler({ onAdd: update, onUpdate: update, onDelete: update });
    manager.everyReplica('neutron', async (signal) => {
      try {
        // What does not exist has no event: only that all is known says so. Rejects only when the signal aborts.
        await secrets.waitForSync(signal).then(update, () => undefined);
        await aborted(signal);
      } finally {
        await connection.close();
      }
    });
    const check = async (signal: AbortSignal) => {
      if (!connection.hasBeenConfigured) return;
      await removeLeftovers(signal);
      await portGarbage.sweep(signal);
    };
    manager.singleton('neutron', check, {
      after,
      everyMs: CHECK_PERIOD_MS,
      failed: (err) => log.error({ err }, 'cannot clean up networks in Neutron'),
    });
    return provider;
  };

/** Ports are removed also after pods can attach no longer. */
function setUpPortGarbageCollector(
  manager: Manager,
  { pods, after }: Pick<ProviderContext, 'pods' | 'after'>,
  options: Pick<PortGarbageCollectorOptions, 'api' | 'store' | 'clusterId'>,
): PortGarbageCollector {
  const controller = manager.controller('neutron-port', WORKERS);
  const portGarbage = new PortGarbageCollector({
    ...options,
    client: manager.leaderClient,
    log: manager.log,
    isLive: (key, uid) => pods.lister.get(key)?.metadata.uid === uid,
    enqueue: (key) => controller.queue.add(key),
  });
  pods.addEventHandler({
    onDelete(pod) {
      if (portGarbage.has(keyOf(pod))) controller.queue.add(keyOf(pod));
    },
  });
  controller.reconcile(portGarbage.reconcile, { keys: () => [], after });
  return portGarbage;
}

/** The UID of kube-system: as good as a cluster's ID, since that namespace lives as long as the cluster. */
function clusterIdOf(client: KubeClient): (signal: AbortSignal) => Promise<string> {
  let known: string | undefined;
  return async (signal) => {
    known ??= (await client.get(NAMESPACES, { name: 'kube-system' }, { signal })).metadata.uid;
    if (known === undefined) throw new Error('expected the namespace kube-system to have a UID');
    return known;
  };
}

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
    help: 'Response times of Neutron and Keystone',
    labelNames: ['method'],
    registers,
    buckets: SECONDS_BUCKETS,
  });
  const available = new Gauge({
    name: 'envoy_initializer_neutron_available',
    help: "1 if Neutron answered the leader's last check, else 0; absent without credentials",
    registers,
  });
  // Neither a standby nor a leader without credentials must say that OpenStack is down.
  available.remove();
  return {
    requestFinished(method, code, seconds) {
      total.inc({ method, code });
      time.observe({ method }, seconds);
    },
    available(is) {
      if (is === undefined) available.remove();
      else available.set(is ? 1 : 0);
    },
  };
}
