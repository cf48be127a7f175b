import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { LIVE_PODS } from '../kube/api/core-resources.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import { Informer } from '../kube/cache/informer.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { MakeController } from '../kube/controller/leader-controller.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import { together } from '../kube/util/together.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { cachedNetwork, NETWORKS } from './api/resources.ts';
import { setUpNetworkController } from './controller/controller.ts';
import type { Range } from './ipam/cidr.ts';
import { NODES } from './ipam/cluster-objects.ts';
import { ClusterRanges } from './ipam/cluster-ranges.ts';
import type { RangePolicy } from './ipam/range-policy.ts';
import { rangeSources } from './ipam/range-sources.ts';
import { NetworkQueues } from './network-queues.ts';
import { followNodes, singleNodeReach } from './nodes/cluster-nodes.ts';
import { meshNodes } from './nodes/setup.ts';
import { attachWith } from './pods/attach-pod.ts';
import { NetworkAccess } from './pods/network-access.ts';
import { isRelevant, networkPods, POD_INDEXERS } from './pods/network-pods.ts';
import { NetworkUsers } from './pods/network-users.ts';
import { setUpPodController } from './pods/pod-controller.ts';
import type { Attach } from './pods/webhook.ts';
import { NETWORK_INDEXERS, PROVIDERS, type ProviderReason } from './providers/index.ts';
import type { ProviderSetup } from './providers/provider-setup.ts';

export interface NetworkDutyOptions {
  /** For the informers, on every replica: a new leader's caches are warm. */
  readonly client: KubeClient;
  /** For what is written, by the leader alone. */
  readonly leaderClient: KubeClient;
  /** Called before each request to a provider outside of the cluster, with its signal: it throws where this process does not lead. */
  readonly mayRequest: (signal: AbortSignal) => void;
  readonly events: EventRecorder;
  readonly makeController: MakeController;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly resyncMs: number;
  readonly defaultProvider: string;
  /** Namespaces whose Networks pods of any namespace may use. */
  readonly sharedNamespaces: readonly string[];
  /** Ranges that Networks must not meet, beside those that are found. */
  readonly clusterCidrs: readonly string[];
  /** Ranges that Networks of nodes are inside of. */
  readonly networkRanges: readonly Range[];
  readonly networkLargest: RangePolicy['largest'];
  /** The operator's own. */
  readonly namespace: string;
  /** That of the node agents which join the nodes; undefined where nothing does. */
  readonly nodeAgentNamespace: string | undefined;
  readonly neutronSecret: string;
}

/** Networks and the pods on them, wired. */
export interface NetworkDuty {
  /** For the webhook, on every replica. */
  readonly attach: Attach;
  /** Keeps the caches, on every replica, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Reconciles until the signal aborts and what runs has ended; for the leader, each time that it leads. */
  reconcile(signal: AbortSignal): Promise<void>;
  /** For /debug/controllers. */
  debug(): readonly unknown[];
}

/** Where what a provider watches is not installed, it is never listed: Networks are told so, after this long. */
const PROVIDERS_WAIT_MS = 5_000;
/** The ranges of Services and of the API server are not waited for longer: a right may be missing. */
const RANGES_WAIT_MS = 5_000;

export function networkDuty(options: NetworkDutyOptions): NetworkDuty {
  const { client, leaderClient, clock, log, makeController, workers } = options;
  const { resyncMs, defaultProvider } = options;
  const access = new NetworkAccess(options.sharedNamespaces);
  const events = logged(options.events, log);
  const { networks, pods, nodes } = informers(options, access);
  const networkQueues: NetworkQueues = new NetworkQueues({
    makeController,
    workers,
    isRemote: (key) => network.isRemote(key),
  });
  const podWork = makeController('pod-gate', workers);
  const users = new NetworkUsers(pods.lister);
  const cluster = new ClusterRanges();
  cluster.set('--cluster-cidrs', options.clusterCidrs);
  const sources = rangeSources({ client, clock, log, ranges: cluster });
  const onReach = () => {
    for (const network of networks.lister.list()) networkQueues.queue.add(keyOf(network));
  };
  followNodes(nodes, cluster, onReach);
  const { nodeAgentNamespace } = options;
  const joined =
    nodeAgentNamespace === undefined
      ? undefined
      : meshNodes({
          ...options,
          nodeAgentNamespace,
          nodes,
          pods: pods.lister,
          onReach,
          onReport: (key) => networkQueues.queue.add(key),
        });
  const context = {
    ...options,
    networks: networks.lister,
    enqueue: (key: ObjectKey) => networkQueues.queue.add(key),
    enqueueAll: () => {
      for (const key of network.keys()) networkQueues.queue.add(key);
    },
    usageOf: (key: ObjectKey) => users.usageOf(key),
    reach: joined?.reach ?? singleNodeReach(nodes.lister),
  };
  const providers: readonly ProviderSetup<ProviderReason>[] = PROVIDERS.map(({ setUp }) => setUp(context));
  const { judge, ...network } = setUpNetworkController({
    client: leaderClient,
    networks,
    queue: networkQueues.queue,
    events,
    clock,
    now: () => new Date(),
    resyncMs,
    defaultProvider,
    providers,
    ranges: {
      policy: { allowed: options.networkRanges, largest: options.networkLargest },
      cluster,
      onOverlap: (key, other) => log.info({ key, other }, 'Network refused: another has its range'),
    },
  });
  const pod = setUpPodController({
    client: leaderClient,
    networks,
    pods,
    users,
    queue: podWork.queue,
    networkQueue: networkQueues.queue,
    stateOf: (key) => judge(key, networks.lister.get(key)),
    access,
    events,
    resyncMs,
  });

  return {
    attach: attachWith({ client, clock, networks: networks.lister, judge, access }),
    async watch(signal) {
      const informing = [networks, pods, nodes].map((informer) => informer.run(signal));
      const watching = [sources, ...providers].map((each) => each.watch(signal));
      await Promise.all([...informing, ...watching, joined?.watch(signal)]);
    },
    async reconcile(signal) {
      // Without the pods, a Network in use would look like one that can go; and of nodes that are joined, what is not known
      // yet would be said to be missing.
      const informing = [networks, pods, nodes, ...(joined?.informers ?? [])];
      if (!(await waitForSync(informing, signal))) return;
      const within = (ms: number) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);
      await Promise.all([
        ...providers.map((each) => each.waitForSync?.(within(PROVIDERS_WAIT_MS))),
        sources.known(within(RANGES_WAIT_MS)),
      ]);
      if (signal.aborted) return;
      await together(signal, [
        (running) => networkQueues.run(network.reconcile, network.keys(), running),
        (running) => podWork.run(pod.reconcile, pod.keys(), running),
        ...providers.flatMap(({ keep }) => keep ?? []),
        ...(joined ? [joined.keep] : []),
      ]);
    },
    debug: () => [...networkQueues.debug(), podWork.debug(), ...(joined ? [joined.debug()] : [])],
  };
}

/** The log says all that the Events say. */
function logged(events: EventRecorder, log: Logger): EventRecorder {
  return {
    event(regarding, details) {
      const { reason, note } = details;
      log.info({ kind: regarding.kind, key: keyOf(regarding), reason, note }, 'event');
      events.event(regarding, details);
    },
  };
}

function informers({ client, clock, log }: NetworkDutyOptions, access: NetworkAccess) {
  const common = <T extends KubeObject>(resource: Resource<T>) => ({
    client,
    clock,
    resource,
    onError: informerLog(log, resource.plural),
  });
  return {
    networks: new Informer({
      ...common(NETWORKS),
      transform: cachedNetwork,
      indexers: NETWORK_INDEXERS,
    }),
    pods: new Informer({
      ...common(networkPods(access)),
      fieldSelector: LIVE_PODS,
      keep: isRelevant,
      indexers: POD_INDEXERS,
    }),
    nodes: new Informer(common(NODES)),
  };
}
