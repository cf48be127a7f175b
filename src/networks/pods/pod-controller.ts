import { isDeepStrictEqual } from 'node:util';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { RateLimitingQueue } from '../../kube/workqueue/rate-limiting-queue.ts';
import type { Network } from '../api/types.ts';
import type { AddressBooks } from './address-books.ts';
import { isGated, type NetworkPod, POD_INDEXERS } from './network-pods.ts';
import type { NetworkUsers } from './network-users.ts';
import { PodGates, type PodGatesOptions } from './pod-gates.ts';

export interface PodControllerOptions extends Omit<PodGatesOptions, 'pods' | 'users' | 'books'> {
  /** Has POD_INDEXERS. Must be synced before the first reconcile. */
  readonly pods: Informer<NetworkPod>;
  readonly networks: Informer<Network>;
  readonly users: NetworkUsers;
  readonly books: AddressBooks;
  /** The queue of pods. */
  readonly queue: Pick<RateLimitingQueue<ObjectKey>, 'add'>;
  /** The queue of Networks. */
  readonly networkQueue: Pick<RateLimitingQueue<ObjectKey>, 'addAfter'>;
  /** How often every gated pod is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
}

export interface PodController {
  readonly reconcile: Reconcile;
  /** Requeues the pods with a gate, or those of them that name the node. */
  wake(node: string | undefined): void;
  /** The pods in the cache, which a new leader reconciles first. */
  keys(): readonly ObjectKey[];
}

/** Pods of a Deployment change together: one reconcile of their Network covers all changes within this time. */
export const GATHER_MS = 200;

/**
 * Sets up the pod controller, which gives pods their addresses, removes gates when Networks are Ready, and requeues
 * Networks when their users change. It adds its handlers to the informers, and returns the reconcile for its queue. It starts nothing.
 */
export function setUpPodController(options: PodControllerOptions): PodController {
  const { pods, networks, resyncMs } = options;
  pods.addEventHandler(podHandler(options), { resyncMs });
  networks.addEventHandler(networkHandler(options));
  const gates = new PodGates({ ...options, pods: pods.lister });
  return {
    reconcile: gates.reconcile,
    wake(node) {
      const some =
        node === undefined ? pods.lister.list().filter(isGated) : pods.lister.byIndex('named', node);
      for (const pod of some) options.queue.add(keyOf(pod));
    },
    keys: () => pods.lister.list().map(keyOf),
  };
}

function podHandler({ queue, users, books, networks, networkQueue }: PodControllerOptions) {
  const usersChanged = (keys: readonly ObjectKey[]) => {
    for (const key of new Set(keys)) if (networks.lister.get(key)) networkQueue.addAfter(key, GATHER_MS);
  };
  return {
    onAdd(pod: NetworkPod) {
      books.changed(pod);
      queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
    onUpdate(previous: NetworkPod, current: NetworkPod) {
      const isChanged = !isDeepStrictEqual(uses(previous), uses(current));
      if (isChanged) books.changed(current, previous);
      if (isChanged || isGated(current) || current.lacks.length > 0 || previous === current)
        queue.add(keyOf(current));
      if (!isGated(current)) users.settle(current);
      if (isChanged) usersChanged([...POD_INDEXERS.user(previous), ...POD_INDEXERS.user(current)]);
    },
    onDelete(pod: NetworkPod) {
      books.deleted(pod);
      users.settle(pod);
      queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
  };
}

/** The part of a pod that Networks depend on. */
function uses({
  gate,
  selections,
  asksFor,
  attachedTo,
  selected,
  lacks,
  unattached,
  nodeName,
}: NetworkPod): unknown {
  return [gate, selections, asksFor, attachedTo, selected, lacks, unattached, nodeName];
}

/** The pods that wait for the Network, or for an address of it. */
export function waitingFor(
  pods: Pick<Lister<NetworkPod>, 'byIndex'>,
  network: ObjectKey,
): readonly NetworkPod[] {
  return [...pods.byIndex('gated', network), ...pods.byIndex('lacking', network)];
}

/** Requeues the pods that wait for a Network when it changes. */
function networkHandler({ pods, books, queue }: PodControllerOptions) {
  const wake = (network: Network) => {
    for (const pod of waitingFor(pods.lister, keyOf(network))) queue.add(keyOf(pod));
  };
  return {
    onAdd: wake,
    onUpdate: (_: Network, current: Network) => wake(current),
    onDelete: (network: Network) => {
      // Frees the memory of its book.
      books.of(keyOf(network));
      wake(network);
    },
  };
}
