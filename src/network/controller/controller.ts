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
import type { Network } from '../api/types.ts';
import { RangeAllocator, type RangeRules } from '../ipam/range-allocator.ts';
import { type NetworkState, networkState } from '../pods/network-state.ts';
import type { AnyProvider } from '../providers/index.ts';
import { DeletionReconciler } from './deletion-reconciler.ts';
import { NetworkWriter } from './network-writer.ts';
import { NormalReconciler } from './normal-reconciler.ts';
import { ProviderRegistry } from './provider-registry.ts';
import { networkReconcile } from './reconcile.ts';
import { StatusThrottle } from './status-throttle.ts';
import { StatusWriter } from './status-writer.ts';

export interface NetworkControllerOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'jsonPatch' | 'mergePatch' | 'apply' | 'delete'>;
  /** To be synced before the first reconcile. */
  readonly networks: Informer<Network>;
  readonly queue: Pick<RateLimitingQueue<ObjectKey>, 'add'>;
  readonly events: EventRecorder;
  readonly clock: Pick<Clock, 'now'>;
  /** The time of day. */
  readonly now: () => Date;
  /** How often every Network is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
  /** Whom Networks are with that name no provider. */
  readonly defaultProvider: string;
  /** Each with the keys of what Networks have left behind with it. */
  readonly providers: readonly {
    readonly provider: AnyProvider;
    leftBehind?(): readonly ObjectKey[];
  }[];
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
  const { client, networks, queue, events, clock, now, ranges } = options;
  const providers = new ProviderRegistry(
    options.providers.map(({ provider }) => provider),
    options.defaultProvider,
  );
  const allocator = new RangeAllocator(providers, (key) => queue.add(key), ranges);
  const copies = new MutationCache(networks.lister);
  const writer = new NetworkWriter({ client, copies });
  const statusWriter = new StatusWriter({ writer, events, now, throttle: new StatusThrottle(clock) });
  addNetworkHandler(options, allocator, copies);
  const reconcile = networkReconcile({
    copies,
    providers,
    normalReconciler: new NormalReconciler({ allocator, writer, statusWriter }),
    deletionReconciler: new DeletionReconciler({ allocator, writer, statusWriter }),
  });
  const leftBehind = () => options.providers.flatMap((each) => each.leftBehind?.() ?? []);
  return {
    reconcile,
    keys: () => new Set([...networks.lister.list().map(keyOf), ...leftBehind()]),
    isRemote(key) {
      const network = networks.lister.get(key);
      return network !== undefined && providers.of(network).isRemote;
    },
    judge: (key, network) => networkState(key, network, providers),
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
