import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import type { RateLimitingQueue } from '../../kube/workqueue/rate-limiting-queue.ts';
import { hasFinalizer } from '../api/finalizer.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import type { NetworkAttachmentDefinition } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { RangeAllocator, type RangeRules } from '../ipam/range-allocator.ts';
import type { NodeCoverage } from '../nodes/cluster-nodes.ts';
import { type NetworkState, networkState } from '../pods/network-state.ts';
import { MultusProvider } from '../providers/multus/multus.ts';
import type { Provider, Usage } from '../providers/provider.ts';
import { DeletionReconciler } from './deletion-reconciler.ts';
import { NetworkWriter } from './network-writer.ts';
import { NormalReconciler } from './normal-reconciler.ts';
import { ProviderRegistry } from './provider-registry.ts';
import { networkReconcile } from './reconcile.ts';
import { StatusThrottle } from './status-throttle.ts';
import { StatusWriter } from './status-writer.ts';

export interface NetworkControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'mergePatch' | 'apply' | 'delete'>;
  /** To be synced before the first reconcile; with the indices VNI_INDEXERS where nodes are joined. */
  readonly networks: Informer<Network>;
  /** Not to be waited for longer than a moment: where Multus is not installed, it never syncs. */
  readonly attachments: Informer<NetworkAttachmentDefinition>;
  readonly queue: Pick<RateLimitingQueue<ObjectKey>, 'add'>;
  readonly events: EventRecorder;
  readonly clock: Pick<Clock, 'now'>;
  /** The time of day. */
  readonly now: () => Date;
  /** How often every Network is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
  /** Whom Networks are with that name no provider. */
  readonly defaultProvider: string;
  /** Beside multus. */
  readonly otherProviders?: readonly Provider[];
  /** Who uses the Network of this key; whoever gives it enqueues the key when that changes. */
  readonly usageOf?: (key: ObjectKey) => Usage;
  /** Why networks of Multus do not reach all nodes, where they do not. */
  readonly reach?: NodeCoverage;
  /** Which ranges Networks may have; without them, all that no other Network has. */
  readonly ranges?: RangeRules;
}

export interface NetworkController {
  readonly reconcile: Reconcile;
  /** What there is to look at, from the caches: where a new leader starts, who heard of it while another led. */
  keys(): ReadonlySet<ObjectKey>;
  /** Whether the Network of the key is made outside of the cluster. */
  isRemote(key: ObjectKey): boolean;
  /** What the Network of the key is to a pod that asks for it; undefined: there is none. */
  judge(key: ObjectKey, network: Network | undefined): NetworkState;
}

/**
 * Sets up the Network controller: adds its handlers to the informers, and returns the reconcile for its queue. It
 * starts nothing; whoever wires it runs the informers, and a Controller on the queue.
 */
export function setUpNetworkController(options: NetworkControllerOptions): NetworkController {
  const { client, networks, attachments, queue, events, clock, now, defaultProvider } = options;
  const { usageOf, reach, ranges, otherProviders = [] } = options;
  const multus = new MultusProvider({ client, networks: networks.lister, attachments, usageOf, reach });
  const providers = new ProviderRegistry([multus, ...otherProviders], defaultProvider);
  const allocator = new RangeAllocator(providers, (key) => queue.add(key), ranges);
  const copies = new MutationCache(networks.lister);
  const writer = new NetworkWriter({ client, copies });
  const statusWriter = new StatusWriter({ writer, events, now, throttle: new StatusThrottle(clock) });
  addNetworkHandler(options, allocator, copies);
  addAttachmentHandler(options, multus);
  const reconcile = networkReconcile({
    copies,
    providers,
    normalReconciler: new NormalReconciler({ allocator, writer, statusWriter }),
    deletionReconciler: new DeletionReconciler({ allocator, writer, statusWriter }),
  });
  const leftBehind = () => attachments.lister.list().filter((a) => hasFinalizer(a, NETWORK_FINALIZER));
  return {
    reconcile,
    keys: () => new Set([...networks.lister.list(), ...leftBehind()].map(keyOf)),
    isRemote(key) {
      const network = networks.lister.get(key);
      return network !== undefined && providers.of(network).isRemote;
    },
    judge: (key, network) => networkState(key, network, (of) => providers.of(of)),
  };
}

function addNetworkHandler(
  { networks, queue, resyncMs }: NetworkControllerOptions,
  allocator: RangeAllocator,
  copies: MutationCache<Network>,
): void {
  networks.addEventHandler(
    {
      onAdd: (network) => {
        allocator.observe(network);
        queue.add(keyOf(network));
      },
      onUpdate: (previous, current) => {
        allocator.observe(current);
        copies.settle(keyOf(current));
        if (isWork(previous, current)) queue.add(keyOf(current));
      },
      onDelete: (network) => {
        allocator.forget(network);
        copies.settle(keyOf(network));
        // Its NetworkAttachmentDefinition may still wait for us, where somebody took our finalizer off the Network.
        queue.add(keyOf(network));
      },
    },
    { resyncMs },
  );
}

/** A resync replays the object to itself, and is work; so is all that changes what should be, but not our own writes. */
function isWork(previous: Network, current: Network): boolean {
  if (previous === current) return true;
  if (previous.metadata.resourceVersion === current.metadata.resourceVersion) return false;
  return (
    previous.metadata.generation !== current.metadata.generation ||
    previous.metadata.deletionTimestamp !== current.metadata.deletionTimestamp ||
    (hasFinalizer(previous, NETWORK_FINALIZER) && !hasFinalizer(current, NETWORK_FINALIZER))
  );
}

/** A definition has its Network's name: ours, and one of somebody else's that is in the way. */
function addAttachmentHandler(
  { networks, attachments, queue }: NetworkControllerOptions,
  multus: MultusProvider,
): void {
  const enqueue = (attachment: NetworkAttachmentDefinition) => {
    const key = keyOf(attachment);
    multus.settle(key);
    if (networks.lister.get(key) || hasFinalizer(attachment, NETWORK_FINALIZER)) queue.add(key);
  };
  attachments.addEventHandler({
    onAdd: enqueue,
    onUpdate: (_, current) => enqueue(current),
    onDelete: enqueue,
  });
}
