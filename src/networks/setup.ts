import { LIVE_PODS } from '../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../kube/api/object.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import { asWaiting } from '../kube/manager/managed-controller.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Task } from '../kube/util/task-group.ts';
import { cachedNetwork, NETWORKS } from './api/resources.ts';
import type { Network } from './api/types.ts';
import { type NetworkController, setUpNetworkController } from './controller/controller.ts';
import type { Range } from './ipam/cidr.ts';
import { CLUSTER_NODES } from './ipam/cluster-objects.ts';
import { ClusterRanges } from './ipam/cluster-ranges.ts';
import type { RangePolicy } from './ipam/range-policy.ts';
import { rangeSources } from './ipam/range-sources.ts';
import { NetworkControllers } from './network-controllers.ts';
import { type Nodes, setUpNodes } from './nodes/setup.ts';
import { attachWith } from './pods/attach-pod.ts';
import { NetworkAccess } from './pods/network-access.ts';
import { isRelevant, networkPods, POD_INDEXERS } from './pods/network-pods.ts';
import { GATHER_MS } from './pods/pod-controller.ts';
import { type NetworkPods, type NetworkPodsOptions, setUpNetworkPods } from './pods/setup.ts';
import { createAttachHandler, createWorkloadAttachHandler } from './pods/webhook.ts';
import { NETWORK_INDEXERS, PROVIDERS, type ProviderReason } from './providers/index.ts';
import type { ProviderContext, ProviderSetup } from './providers/provider-setup.ts';
import { setUpNetworkServices } from './services/setup.ts';

export interface NetworkOptions {
  readonly workers: number;
  /** How often each Network is reconciled without an event, in milliseconds. */
  readonly resync: number;
  readonly networkProvider: (typeof PROVIDERS)[number]['name'];
  /** Namespaces whose Networks pods in any namespace may use. */
  readonly sharedNetworkNamespaces: readonly string[];
  /** Ranges that Networks must not overlap, in addition to the detected ones. */
  readonly clusterCidrs: readonly string[];
  /** Ranges that contain all Networks on nodes. */
  readonly networkRanges: readonly Range[];
  readonly networkLargest: RangePolicy['largest'];
  /** The operator's namespace. */
  readonly namespace: string;
  /** The namespace of the node agents that connect the nodes; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
  readonly neutronSecret: string;
  /** Whether pods can attach to networks of Neutron. */
  readonly neutronPods: boolean;
}

/**
 * Longest wait for the caches of providers. A resource that is not installed never syncs; then Networks report
 * that.
 */
const PROVIDERS_WAIT_MS = 5_000;
/** Longest wait for the ranges of Services and of the API server: the operator may lack a right. */
const RANGES_WAIT_MS = 5_000;

/** What the parts of Networks share. */
interface Shared {
  readonly manager: Manager;
  readonly options: NetworkOptions;
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
  readonly caches: ReturnType<typeof informers>;
  readonly cluster: ClusterRanges;
  readonly controllers: NetworkControllers;
  /** Resolves when the leader knows enough of the cluster to reconcile Networks and pods. */
  readonly after: Task;
}

/** Sets up the controllers of Networks and of pods on them, and the webhook that attaches pods. */
export function setUpNetworks(manager: Manager, options: NetworkOptions): void {
  const { log } = manager;
  const access = new NetworkAccess(options.sharedNetworkNamespaces);
  const events = logged(manager.events, log);
  const caches = informers(manager, access);
  const cluster = new ClusterRanges();
  cluster.set('--cluster-cidrs', options.clusterCidrs);
  const sources = rangeSources(manager, cluster);

  async function after(signal: AbortSignal): Promise<void> {
    // Without the pods, a Network in use would look unused. Without the reports of the agents, its nodes would seem to
    // have none.
    if (!(await waitForSync([...Object.values(caches), ...nodes.informers], signal))) return;
    const within = (ms: number) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);
    await Promise.all([
      ...providers.map((each) => each.waitForSync?.(within(PROVIDERS_WAIT_MS))),
      sources.known(within(RANGES_WAIT_MS)),
      pods.known(within(PROVIDERS_WAIT_MS)),
    ]);
  }

  const controllers = new NetworkControllers(manager, {
    name: 'network',
    workers: options.workers,
    isRemote: (key) => controller.isRemote(key),
  });
  const shared: Shared = { manager, options, access, events, caches, cluster, controllers, after };
  const nodes = nodesOf(shared, (node) => pods.wake(node));
  const pods = podsOf(shared, {
    withoutMultus: (names) => nodes.networkNodes.withoutMultus(names),
    isRemote: (key) => controller.isRemote(key),
    judge: (key, network) => controller.judge(key, network),
    providerOf: (network) => providers.find(({ provider }) => provider.name === network?.status?.provider),
  });
  const context = providerContext(shared, pods, nodes, () => controller.keys());
  const providers: readonly Setup[] = PROVIDERS.map(({ setUp }) => setUp(manager, context));
  const controller: NetworkController = networkController(shared, providers);
  controllers.reconcile(controller.reconcile, {
    keys: controller.keys,
    after,
    waiting: (key) => asWaiting(NETWORKS, caches.networks.lister.get(key)),
  });
  setUpNetworkServices(manager, { access, events, ...caches, after });
  const { client, clock } = manager;
  const attach = attachWith({
    ...{ client, clock, access },
    networks: caches.networks.lister,
    judge: controller.judge,
  });
  manager.webhook('/attach', createAttachHandler({ attach, log }));
  manager.webhook('/validate-attach', createWorkloadAttachHandler(attach));
}

type Setup = ProviderSetup<ProviderReason>;

function nodesOf(
  { manager, options, events, caches, cluster, controllers }: Shared,
  wake: NetworkPods['wake'],
): Nodes {
  const { networks, pods, nodes } = caches;
  return setUpNodes(manager, {
    nodeAgentNamespace: options.nodeAgentNamespace,
    events,
    nodes,
    pods: pods.lister,
    ranges: cluster,
    allowed: options.networkRanges,
    onNetwork: (key) => {
      if (networks.lister.get(key)) controllers.queue.addAfter(key, GATHER_MS);
    },
    onMtu: () => {
      for (const each of networks.lister.list()) controllers.queue.add(keyOf(each));
    },
    onMultus: (node, isAll) => {
      wake(isAll ? undefined : node);
      if (isAll) for (const each of networks.lister.list()) controllers.queue.add(keyOf(each));
    },
  });
}

function podsOf(
  { manager, options, access, events, caches, controllers, after }: Shared,
  {
    isRemote,
    judge,
    providerOf,
    withoutMultus,
  }: Pick<NetworkController, 'isRemote' | 'judge'> & {
    providerOf(network: Network | undefined): Setup | undefined;
    withoutMultus: NetworkPodsOptions['withoutMultus'];
  },
): NetworkPods {
  const { workers, resync: resyncMs } = options;
  const networkOf = (key: ObjectKey) => caches.networks.lister.get(key);
  return setUpNetworkPods(manager, {
    ...{ workers, resyncMs, access, events, ...caches, isRemote, after, withoutMultus },
    networkQueue: controllers.queue,
    gives: (network) => providerOf(network)?.takesAddresses?.(keyOf(network)) ?? false,
    portsOf(key) {
      const network = networkOf(key);
      const ports = providerOf(network)?.ports;
      return network && ports ? { network, ports } : undefined;
    },
    stateOf: (key) => judge(key, networkOf(key)),
  });
}

function providerContext(
  { options, access, caches, controllers, after }: Shared,
  { users }: NetworkPods,
  { networkNodes }: Nodes,
  keys: () => Iterable<ObjectKey>,
): ProviderContext {
  const { networks, pods } = caches;
  return {
    namespace: options.namespace,
    neutronSecret: options.neutronSecret,
    neutronPods: options.neutronPods,
    after,
    networks: networks.lister,
    pods: {
      uidOf: (key) => pods.lister.get(key)?.metadata.uid,
      onGone: (handler) => pods.addEventHandler({ onDelete: (pod) => handler(keyOf(pod)) }),
    },
    enqueue: (key: ObjectKey) => controllers.queue.add(key),
    enqueueAll: () => {
      for (const key of keys()) controllers.queue.add(key);
    },
    usageOf(network) {
      const { nodeNames, ...usage } = users.usageOf(keyOf(network));
      const unattached = users.unattachedOn(keyOf(network));
      return { ...usage, nodes: networkNodes.inUse(network, nodeNames, unattached) };
    },
    defaultMtu: () => networkNodes.mtu(),
    withoutMultus: () => networkNodes.withoutMultus(),
    isShared: (key: ObjectKey) => access.isShared(key),
  };
}

function networkController(
  { manager, options, events, caches, cluster, controllers }: Shared,
  providers: readonly Setup[],
): NetworkController {
  const { leaderClient: client, clock, log } = manager;
  return setUpNetworkController({
    client,
    networks: caches.networks,
    queue: controllers.queue,
    events,
    clock,
    now: () => new Date(),
    resyncMs: options.resync,
    defaultProvider: options.networkProvider,
    providers,
    ranges: {
      policy: { allowed: options.networkRanges, largest: options.networkLargest },
      cluster,
      onOverlap: (key, other) =>
        log.info({ key, other }, 'Network refused, its range belongs to another Network'),
    },
  });
}

/** Returns a recorder that also logs every Event. */
function logged(events: EventRecorder, log: Logger): EventRecorder {
  return {
    event(regarding, details) {
      const { reason, note } = details;
      log.info({ kind: regarding.kind, key: keyOf(regarding), reason, note }, 'event');
      events.event(regarding, details);
    },
  };
}

function informers(manager: Manager, access: NetworkAccess) {
  return {
    networks: manager.informer(NETWORKS, { transform: cachedNetwork, indexers: NETWORK_INDEXERS }),
    pods: manager.informer(networkPods(access), {
      fieldSelector: LIVE_PODS,
      keep: isRelevant,
      indexers: POD_INDEXERS,
    }),
    nodes: manager.informer(CLUSTER_NODES),
  };
}
