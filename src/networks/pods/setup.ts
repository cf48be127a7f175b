import { PODS } from '../../kube/api/core-resources.ts';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import { asWaiting } from '../../kube/manager/managed-controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Task } from '../../kube/util/task-group.ts';
import type { RateLimitingQueue } from '../../kube/workqueue/rate-limiting-queue.ts';
import type { Network } from '../api/types.ts';
import type { ClusterNode } from '../ipam/cluster-objects.ts';
import { NetworkControllers } from '../network-controllers.ts';
import { AddressBooks } from './address-books.ts';
import { CLAIM_INDEXERS, IPAM_CLAIMS, isAllowed } from './ipam-claims.ts';
import { addressMetrics } from './metrics.ts';
import type { NetworkAccess } from './network-access.ts';
import { type NetworkPod, networksOf } from './network-pods.ts';
import type { NetworkState } from './network-state.ts';
import { NetworkUsers } from './network-users.ts';
import { PodAddresses } from './pod-addresses.ts';
import { GATHER_MS, setUpPodController, waitingFor } from './pod-controller.ts';
import type { PodGatesOptions } from './pod-gates.ts';
import { PortFiller, type PortFillerOptions } from './pod-ports.ts';

export interface NetworkPodsOptions {
  readonly workers: number;
  readonly resyncMs: number;
  readonly access: NetworkAccess;
  readonly events: EventRecorder;
  readonly networks: Informer<Network>;
  /** With POD_INDEXERS. */
  readonly pods: Informer<NetworkPod>;
  readonly nodes: Informer<ClusterNode>;
  readonly networkQueue: Pick<RateLimitingQueue<ObjectKey>, 'addAfter'>;
  /** Whether the operator gives pods their addresses on the Network. */
  readonly gives: (network: Network) => boolean;
  readonly portsOf: PortFillerOptions['portsOf'];
  /** Whether the provider of the Network is outside of the cluster. */
  readonly isRemote: (network: ObjectKey) => boolean;
  readonly stateOf: (key: ObjectKey) => NetworkState;
  readonly withoutMultus: PodGatesOptions['withoutMultus'];
  /** Resolves when the leader knows all that pods on Networks depend on. */
  readonly after: Task;
}

export interface NetworkPods {
  readonly users: NetworkUsers;
  /** Requeues the pods with a gate, or those of them that name the node. */
  wake(node: string | undefined): void;
  /** Resolves when the IPAMClaims are known, or their CRD is not installed, or the signal aborts. */
  known(signal: AbortSignal): Promise<unknown>;
}

/** Sets up the controller of pods on Networks, with the books of their addresses. */
export function setUpNetworkPods(manager: Manager, options: NetworkPodsOptions): NetworkPods {
  const { workers, resyncMs, access, pods, networks, nodes } = options;
  const client = manager.leaderClient;
  const controller = new NetworkControllers(manager, {
    name: 'pod-gate',
    workers,
    isRemote(key) {
      const pod = pods.lister.get(key);
      return pod !== undefined && networksOf(pod).some(options.isRemote);
    },
  });
  const claims = followClaims(manager, access);
  const books = new AddressBooks({
    pods: pods.lister,
    networks: networks.lister,
    claims: claims.informer.lister,
    gives: options.gives,
    isAway: (node) => nodes.lister.get(node)?.isAway ?? false,
    onFreed: (network) => {
      for (const pod of waitingFor(pods.lister, network)) controller.queue.addAfter(keyOf(pod), GATHER_MS);
    },
  });
  const users = new NetworkUsers(pods.lister, books);
  const addresses = new PodAddresses({ client, books, access });
  claims.informer.addEventHandler({
    onAdd: (claim) => books.claimChanged(claim),
    onUpdate: (previous, claim) => books.claimChanged(claim, previous),
    onDelete: (claim) => books.claimChanged(claim),
  });
  nodes.addEventHandler({
    onUpdate: (previous, { metadata: { name }, isAway }) => {
      if (previous.isAway && !isAway) books.nodeChanged(name);
    },
    onDelete: ({ metadata: { name } }) => books.nodeChanged(name),
  });
  const pod = setUpPodController({
    ...options,
    client,
    users,
    books,
    addresses,
    ports: new PortFiller({ portsOf: options.portsOf, access }),
    queue: controller.queue,
    metrics: addressMetrics(manager.registry, pods.lister, networks.lister),
  });
  manager.singleton('address-books', async () => books.sweep(), { everyMs: resyncMs / 2 });
  controller.reconcile(pod.reconcile, {
    waiting: (key) => asWaiting(PODS, pods.lister.get(key)),
    keys: pod.keys,
    after: async (signal) => {
      await options.after(signal);
      addresses.startTerm();
    },
  });
  return { users, wake: pod.wake, known: claims.known };
}

function followClaims(manager: Manager, access: NetworkAccess) {
  const served = manager.served(IPAM_CLAIMS);
  const informer = manager.informer(IPAM_CLAIMS, {
    keep: (claim) => isAllowed(claim, access),
    indexers: CLAIM_INDEXERS,
    startWhen: served.until,
  });
  return {
    informer,
    known: async (signal: AbortSignal) =>
      (await served.known(signal)) === true && (await waitForSync([informer], signal)),
  };
}
