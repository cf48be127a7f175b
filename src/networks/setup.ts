import { LIVE_PODS } from '../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../kube/api/object.ts';
import { regardingOf } from '../kube/api/resource.ts';
import { waitForSync } from '../kube/cache/informer.ts';
import { MutationCache } from '../kube/cache/mutation-cache.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { Logger } from '../kube/util/log.ts';
import { NETWORK_FINALIZER } from './api/names.ts';
import { cachedNetwork, hasFinalizer, NETWORKS } from './api/resources.ts';
import type { Network } from './api/types.ts';
import { attachWith, createAttachHandler, createWorkloadAttachHandler } from './attach/attach.ts';
import { GATHER_MS, type PodControllerOptions, setUpPodController } from './attach/pod-controller.ts';
import { NetworkWriter } from './controller/network-writer.ts';
import { ProviderRegistry } from './controller/provider-registry.ts';
import { networkReconcile } from './controller/reconcile.ts';
import { type RangePolicy, type RangeRules, SpecAcceptance } from './controller/spec-acceptance.ts';
import { SplitController } from './controller/split-controller.ts';
import { setUpMultus } from './multus/multus.ts';
import { MULTUS_INDEXERS } from './multus/vnis.ts';
import { CLUSTER_NODES } from './nodes/cluster-node.ts';
import { setUpNodes } from './nodes/network-nodes.ts';
import { NetworkAccess } from './pods/network-access.ts';
import { isGated, isRelevant, networkPods, networksOf, POD_INDEXERS } from './pods/network-pods.ts';
import type { ProviderContext, SetUpProvider } from './providers.ts';
import type { Range } from './ranges/cidr.ts';
import { ClusterRanges } from './ranges/cluster-ranges.ts';
import { rangeSources } from './ranges/range-sources.ts';
import { setUpNetworkServices } from './services/service-endpoints.ts';

export interface NetworkOptions {
  readonly workers: number;
  /** How often each Network is reconciled without an event, in milliseconds. */
  readonly resync: number;
  readonly networkProvider: NonNullable<Network['spec']['provider']>;
  /** Namespaces whose Networks pods in any namespace may use. */
  readonly sharedNetworkNamespaces: readonly string[];
  /** Ranges that Networks must not overlap, in addition to the detected ones. */
  readonly clusterCidrs: readonly string[];
  /** Ranges that contain all Networks on nodes. */
  readonly networkRanges: readonly Range[];
  readonly networkLargest: RangePolicy['largest'];
  readonly namespace: string;
  /** The namespace of the node agents that connect the nodes; undefined without node agents. */
  readonly nodeAgentNamespace: string | undefined;
}

/** Longest wait for what may never sync: a resource that is not installed, or that the operator may not read. */
const OPTIONAL_WAIT_MS = 5_000;

/**
 * Sets up the controllers of Networks and of pods on them, and the webhook that attaches pods. `providers` come in
 * addition to multus.
 */
export function setUpNetworks(
  manager: Manager,
  options: NetworkOptions,
  providers: readonly SetUpProvider[] = [],
): void {
  const { client, clock, log } = manager;
  const { workers, resync: resyncMs, namespace } = options;
  const access = new NetworkAccess(options.sharedNetworkNamespaces);
  const events = logged(manager.events, log);
  const registry = new ProviderRegistry(options.networkProvider);

  const networks = manager.informer(NETWORKS, { transform: cachedNetwork, indexers: MULTUS_INDEXERS });
  const pods = manager.informer(networkPods(access), {
    fieldSelector: LIVE_PODS,
    keep: (pod) => isRelevant(pod) || pod.metadata.namespace === options.nodeAgentNamespace,
    indexers: POD_INDEXERS,
  });
  const nodes = manager.informer(CLUSTER_NODES);
  const cluster = new ClusterRanges();
  cluster.set('--cluster-cidrs', options.clusterCidrs);
  const rangesKnown = rangeSources(manager, cluster);

  const isRemote = (key: ObjectKey) => {
    const network = networks.lister.get(key);
    return network !== undefined && registry.of(network).isRemote;
  };
  const controller = new SplitController(manager, 'network', workers, isRemote);
  const podController = new SplitController(manager, 'pod-gate', workers, (key) =>
    networksOf(pods.lister.get(key)).some(isRemote),
  );
  const { queue } = controller;
  const enqueueAll = () => {
    for (const each of networks.lister.list()) queue.add(keyOf(each));
  };

  const { networkNodes, informers } = setUpNodes(manager, {
    ...{ nodeAgentNamespace: options.nodeAgentNamespace, events, nodes, pods },
    ...{ ranges: cluster, allowed: options.networkRanges },
    onNode(name) {
      const there = pods.lister.byIndex('node', name);
      for (const pod of [...there, ...pods.lister.byIndex('named', name)])
        podController.queue.add(keyOf(pod));
      for (const key of new Set(there.flatMap(networksOf)))
        if (networks.lister.get(key)) queue.addAfter(key, GATHER_MS);
    },
    onAll() {
      for (const pod of pods.lister.list().filter(isGated)) podController.queue.add(keyOf(pod));
      enqueueAll();
    },
  });
  const after = async (signal: AbortSignal) => {
    // Without the pods, a Network in use would look unused. Without the reports of the agents, its nodes would seem to
    // have none.
    if (!(await waitForSync([networks, pods, nodes, ...informers], signal))) return;
    const soon = AbortSignal.any([signal, AbortSignal.timeout(OPTIONAL_WAIT_MS)]);
    const backends = registry.all().map((provider) => provider.waitForSync?.(soon));
    await Promise.all([...backends, rangesKnown(soon)]);
  };

  const copies = new MutationCache(networks.lister);
  const changing = new Set<ObjectKey>();
  const shared = { access, events, networks, copies, changing, pods, providers: registry, resyncMs, after };
  const users = setUpPodController(manager, {
    ...{ ...shared, controller: podController, nodes, networkNodes, networkQueue: queue },
  });
  const context: Omit<ProviderContext, 'definitions'> = {
    namespace,
    after,
    networks: networks.lister,
    pods,
    enqueue: (key) => queue.add(key),
    enqueueAll,
    usageOf(network) {
      const { nodeNames, ...usage } = users.usageOf(keyOf(network));
      return { ...usage, nodes: networkNodes.inUse(network, nodeNames) };
    },
  };
  const multus = setUpMultus(manager, { ...context, access, nodes: networkNodes });
  registry.add(multus);
  const definitions = multus.attachments;
  for (const setUp of providers) registry.add(setUp(manager, { ...context, definitions }));

  const policy = { allowed: options.networkRanges, largest: options.networkLargest };
  setUpNetworkController(manager, { ...shared, controller }, { policy, cluster });
  setUpNetworkServices(manager, shared);
  const attach = attachWith({ client, clock, access, providers: registry, networks: networks.lister });
  manager.webhooks.add('/attach', createAttachHandler({ attach, log }));
  manager.webhooks.add('/validate-attach', createWorkloadAttachHandler(attach));
}

type NetworkControllerOptions = Omit<PodControllerOptions, 'nodes' | 'networkNodes' | 'networkQueue'>;

function setUpNetworkController(
  { leaderClient: client, clock }: Manager,
  { controller, networks, copies, changing, events, providers, resyncMs, after }: NetworkControllerOptions,
  ranges: RangeRules,
): void {
  const { queue } = controller;
  const acceptance = new SpecAcceptance(providers, (key) => queue.add(key), ranges);
  networks.addEventHandler(
    {
      onAdd(network) {
        acceptance.observe(network);
        queue.add(keyOf(network));
      },
      onUpdate(previous, current) {
        acceptance.observe(current);
        copies.settle(keyOf(current));
        if (isWork(previous, current)) queue.add(keyOf(current));
      },
      onDelete(network) {
        acceptance.forget(network);
        copies.settle(keyOf(network));
        // If a user removed its finalizer, its NetworkAttachmentDefinition still waits for the operator.
        queue.add(keyOf(network));
      },
    },
    { resyncMs },
  );
  const writer = new NetworkWriter({ client, copies, events, clock, now: () => new Date() });
  controller.reconcile(networkReconcile({ copies, providers, acceptance, writer, changing }), {
    after,
    waiting: (key) => regardingOf(NETWORKS, networks.lister.get(key)),
    /** Another process may give ranges now: the next term believes only statuses. */
    ended() {
      for (const each of networks.lister.list()) {
        acceptance.forget(each);
        acceptance.observe(each);
      }
    },
    /** Those that a new leader must reconcile first. */
    keys() {
      const leftBehind = providers.all().flatMap((each) => each.leftBehind?.() ?? []);
      return new Set([...networks.lister.list().map(keyOf), ...leftBehind]);
    },
  });
}

/** Whether an update needs a reconcile: a resync and a change of the desired state do, the operator's own writes do not. */
function isWork(previous: Network, current: Network): boolean {
  if (previous === current) return true;
  if (previous.metadata.resourceVersion === current.metadata.resourceVersion) return false;
  return (
    previous.metadata.generation !== current.metadata.generation ||
    previous.metadata.deletionTimestamp !== current.metadata.deletionTimestamp ||
    (hasFinalizer(previous, NETWORK_FINALIZER) && !hasFinalizer(current, NETWORK_FINALIZER))
  );
}

function logged(events: EventRecorder, log: Logger): EventRecorder {
  return {
    event(regarding, details) {
      const { reason, note } = details;
      log.info({ kind: regarding.kind, key: keyOf(regarding), reason, note }, 'event');
      events.event(regarding, details);
    },
  };
}
