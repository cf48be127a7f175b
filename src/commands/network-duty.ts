import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { KubeClient } from '../kube/client.ts';
import { LIVE_PODS } from '../kube/core-resources.ts';
import type { EventRecorder } from '../kube/events.ts';
import { Informer } from '../kube/informer.ts';
import { type KubeObject, keyOf, withoutManagedFields } from '../kube/object.ts';
import type { Resource } from '../kube/resource.ts';
import { together } from '../kube/together.ts';
import type { Range } from '../network/cidr.ts';
import { followNodes, singleNodeReach } from '../network/cluster-nodes.ts';
import { NODES } from '../network/cluster-objects.ts';
import { ClusterRanges } from '../network/cluster-ranges.ts';
import { setUpNetworkController } from '../network/controller.ts';
import { matters, networkPods, POD_INDEXERS } from '../network/network-pods.ts';
import { NetworkUsers } from '../network/network-users.ts';
import { setUpPodController } from '../network/pod-controller.ts';
import { VNI_INDEXERS } from '../network/providers/multus-vnis.ts';
import type { RangePolicy } from '../network/range-policy.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../network/resources.ts';
import type { Attach } from '../webhook/attach-handler.ts';
import type { Clock } from '../workqueue/clock.ts';
import { allSynced } from './all-synced.ts';
import { attachWith } from './attach.ts';
import { informerLog } from './informer-log.ts';
import { joinedNodes } from './joined-nodes.ts';
import type { MakeController } from './led-controller.ts';
import { NetworkWork } from './network-work.ts';
import { neutronDuty } from './neutron-duty.ts';
import { rangeSources } from './range-sources.ts';

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

/** Where Multus is not installed its definitions are never listed: Networks are told so, after this long. */
const ATTACHMENTS_WAIT_MS = 5_000;
/** The ranges of Services and of the API server are not waited for longer: a right may be missing. */
const RANGES_WAIT_MS = 5_000;

export function networkDuty(options: NetworkDutyOptions): NetworkDuty {
  const { client, leaderClient, clock, log, makeController, workers } = options;
  const { resyncMs, defaultProvider, sharedNamespaces } = options;
  const events = logged(options.events, log);
  const { networks, attachments, pods, nodes } = informers(options);
  const networkWork: NetworkWork = new NetworkWork({
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
    for (const network of networks.lister.list()) networkWork.queue.add(keyOf(network));
  };
  followNodes(nodes, cluster, onReach);
  const { nodeAgentNamespace } = options;
  const joined =
    nodeAgentNamespace === undefined
      ? undefined
      : joinedNodes({
          ...options,
          nodeAgentNamespace,
          nodes,
          pods: pods.lister,
          onReach,
          onReport: (key) => networkWork.queue.add(key),
        });
  const neutron = neutronDuty({
    ...options,
    known: (key) => networks.lister.get(key),
    onChange: () => {
      for (const key of network.keys()) networkWork.queue.add(key);
    },
  });
  const { judge, ...network } = setUpNetworkController({
    client: leaderClient,
    networks,
    attachments,
    queue: networkWork.queue,
    events,
    clock,
    now: () => new Date(),
    resyncMs,
    defaultProvider,
    otherProviders: [neutron.provider],
    usageOf: (key) => users.usageOf(key),
    reach: joined?.reach ?? singleNodeReach(nodes.lister),
    ranges: { policy: { allowed: options.networkRanges, largest: options.networkLargest }, cluster },
  });
  const pod = setUpPodController({
    client: leaderClient,
    networks,
    pods,
    users,
    queue: podWork.queue,
    networkQueue: networkWork.queue,
    stateOf: (key) => judge(key, networks.lister.get(key)),
    sharedNamespaces,
    events,
    resyncMs,
  });

  return {
    attach: attachWith({ client, clock, networks: networks.lister, judge, sharedNamespaces }),
    async watch(signal) {
      const informing = [networks, attachments, pods, nodes].map((informer) => informer.run(signal));
      await Promise.all([...informing, sources.watch(signal), neutron.watch(signal), joined?.watch(signal)]);
    },
    async reconcile(signal) {
      // Without the pods, a Network in use would look like one that can go; and of nodes that are joined, what is not known
      // yet would be said to be missing.
      const informing = [networks, pods, nodes, ...(joined?.informers ?? [])];
      if (!(await allSynced(informing, signal))) return;
      const within = (ms: number) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);
      await Promise.all([
        allSynced([attachments], within(ATTACHMENTS_WAIT_MS)),
        sources.known(within(RANGES_WAIT_MS)),
      ]);
      if (signal.aborted) return;
      await together(signal, [
        (running) => networkWork.run(network.reconcile, network.keys(), running),
        (running) => podWork.run(pod.reconcile, pod.keys(), running),
        (running) => neutron.keep(running),
        ...(joined ? [joined.keep] : []),
      ]);
    },
    debug: () => [...networkWork.debug(), podWork.debug(), ...(joined ? [joined.debug()] : [])],
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

function informers({ client, clock, log, sharedNamespaces }: NetworkDutyOptions) {
  const common = <T extends KubeObject>(resource: Resource<T>) => ({
    client,
    clock,
    resource,
    onError: informerLog(log, resource.plural),
  });
  return {
    networks: new Informer({
      ...common(NETWORKS),
      transform: withoutManagedFields,
      indexers: VNI_INDEXERS,
    }),
    attachments: new Informer({
      ...common(NETWORK_ATTACHMENT_DEFINITIONS),
      transform: withoutManagedFields,
    }),
    pods: new Informer({
      ...common(networkPods(sharedNamespaces)),
      fieldSelector: LIVE_PODS,
      keep: matters,
      indexers: POD_INDEXERS,
    }),
    nodes: new Informer(common(NODES)),
  };
}
