import { isDeepStrictEqual } from 'node:util';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { RateLimitingQueue } from '../../kube/workqueue/rate-limiting-queue.ts';
import type { Network } from '../api/types.ts';
import { isGated, type NetworkPod, POD_INDEXERS } from './network-pods.ts';
import type { NetworkUsers } from './network-users.ts';
import { PodGates, type PodGatesOptions } from './pod-gates.ts';

export interface PodControllerOptions extends Omit<PodGatesOptions, 'pods' | 'users'> {
  /** Has POD_INDEXERS. Must be synced before the first reconcile. */
  readonly pods: Informer<NetworkPod>;
  readonly networks: Informer<Network>;
  readonly users: NetworkUsers;
  /** The queue of pods. */
  readonly queue: Pick<RateLimitingQueue<ObjectKey>, 'add'>;
  /** The queue of Networks. */
  readonly networkQueue: Pick<RateLimitingQueue<ObjectKey>, 'addAfter'>;
  /** How often every gated pod is reconciled without an event, in milliseconds. */
  readonly resyncMs: number;
}

export interface PodController {
  readonly reconcile: Reconcile;
  /** The gated pods in the cache, which a new leader reconciles first. */
  keys(): readonly ObjectKey[];
}

/** Pods of a Deployment change together: one reconcile of their Network covers all changes within this time. */
export const GATHER_MS = 200;

/**
 * Sets up the pod controller, which removes gates when Networks are Ready, and requeues Networks when their users
 * change. It adds its handlers to the informers, and returns the reconcile for its queue. It starts nothing.
 */
export function setUpPodController(options: PodControllerOptions): PodController {
  const { pods, networks, resyncMs } = options;
  pods.addEventHandler(podHandler(options), { resyncMs });
  networks.addEventHandler(networkHandler(options));
  const gates = new PodGates({ ...options, pods: pods.lister });
  return { reconcile: gates.reconcile, keys: () => pods.lister.list().filter(isGated).map(keyOf) };
}

function podHandler({ queue, users, networks, networkQueue }: PodControllerOptions) {
  const usersChanged = (keys: readonly ObjectKey[]) => {
    for (const key of new Set(keys)) if (networks.lister.get(key)) networkQueue.addAfter(key, GATHER_MS);
  };
  return {
    onAdd(pod: NetworkPod) {
      if (isGated(pod)) queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
    onUpdate(previous: NetworkPod, current: NetworkPod) {
      if (isGated(current)) queue.add(keyOf(current));
      else users.settle(current);
      if (isDeepStrictEqual(uses(previous), uses(current))) return;
      usersChanged([...POD_INDEXERS.user(previous), ...POD_INDEXERS.user(current)]);
    },
    onDelete(pod: NetworkPod) {
      users.settle(pod);
      if (isGated(pod)) queue.add(keyOf(pod));
      usersChanged(POD_INDEXERS.user(pod));
    },
  };
}

function uses(pod: NetworkPod): unknown {
  return isGated(pod) ? [] : [POD_INDEXERS.user(pod), pod.attachedTo, pod.nodeName];
}

/** Requeues the pods that wait for a Network when it changes. */
function networkHandler({ pods, queue }: PodControllerOptions) {
  const wake = (network: Network) => {
    for (const pod of pods.lister.byIndex('gated', keyOf(network))) queue.add(keyOf(pod));
  };
  return {
    onAdd: wake,
    onUpdate: (_: Network, current: Network) => wake(current),
    onDelete: wake,
  };
}
