import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { EventRecorder } from '../../kube/events/events.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import type { WorkQueue } from '../../kube/workqueue/queue.ts';
import { NETWORK_FINALIZER } from '../api/names.ts';
import { hasFinalizer } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { RangeAllocator, type RangeRules } from '../ipam/range-allocator.ts';
import { NetworkWriter } from './network-writer.ts';
import type { ProviderRegistry } from './provider-registry.ts';
import { networkReconcile } from './reconcile.ts';

export interface NetworkControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'mergePatch' | 'apply' | 'delete'>;
  /** Must be synced before the first reconcile. */
  readonly networks: Informer<Network>;
  readonly queue: Pick<WorkQueue<ObjectKey>, 'add'>;
  readonly events: EventRecorder;
  readonly clock: Pick<Clock, 'now'>;
  /** The time of day. */
  readonly now: () => Date;
  /** How often every Network is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
  readonly providers: ProviderRegistry;
  /** Limits the ranges of Networks. Without rules, ranges must only not overlap. */
  readonly ranges?: RangeRules;
}

export interface NetworkController {
  readonly reconcile: Reconcile;
  /** Keys that a new leader must reconcile first, from its caches. */
  keys(): ReadonlySet<ObjectKey>;
}

/**
 * Sets up the Network controller: adds its handlers to the informers, and returns the reconcile for its queue. It
 * starts nothing: the caller runs the informers and a Controller on the queue.
 */
export function setUpNetworkController(options: NetworkControllerOptions): NetworkController {
  const { client, networks, queue, events, clock, now, ranges, providers } = options;
  const allocator = new RangeAllocator(providers, (key) => queue.add(key), ranges);
  const copies = new MutationCache(networks.lister);
  const writer = new NetworkWriter({ client, copies, events, clock, now });
  addNetworkHandler(options, allocator, copies);
  const leftBehind = () => providers.all().flatMap((each) => each.leftBehind?.() ?? []);
  return {
    reconcile: networkReconcile({ copies, providers, allocator, writer }),
    keys: () => new Set([...networks.lister.list().map(keyOf), ...leftBehind()]),
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
        // If a user removed the finalizer from the Network, its NetworkAttachmentDefinition still waits for the
        // operator.
        queue.add(keyOf(network));
      },
    },
    { resyncMs },
  );
}

/**
 * Whether an update needs a reconcile: a resync and a change of the desired state do, the operator's own writes do
 * not.
 */
function isWork(previous: Network, current: Network): boolean {
  if (previous === current) return true;
  if (previous.metadata.resourceVersion === current.metadata.resourceVersion) return false;
  return (
    previous.metadata.generation !== current.metadata.generation ||
    previous.metadata.deletionTimestamp !== current.metadata.deletionTimestamp ||
    (hasFinalizer(previous, NETWORK_FINALIZER) && !hasFinalizer(current, NETWORK_FINALIZER))
  );
}
