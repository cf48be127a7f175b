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
  /** With POD_INDEXERS; to be synced before the first reconcile. */
  readonly pods: Informer<NetworkPod>;
  readonly networks: Informer<Network>;
  readonly users: NetworkUsers;
  /** Of pods. */
  readonly queue: Pick<RateLimitingQueue<ObjectKey>, 'add'>;
  /** Of Networks. */
  readonly networkQueue: Pick<RateLimitingQueue<ObjectKey>, 'addAfter'>;
  /** How often every gated pod is looked at without an event, in milliseconds. */
  readonly resyncMs: number;
}

export interface PodController {
  readonly reconcile: Reconcile;
  /** The gated pods of the cache, where a new leader starts. */
  keys(): readonly ObjectKey[];
}

/** A Deployment's pods come and go together: their Network is looked at once for all that do within this time. */
const GATHER_MS = 200;

/**
 * Sets up what is done for pods: their gates are lifted when their Networks are Ready, and Networks learn of their
 * users. It adds its handlers to the informers, and returns the reconcile for its queue; it starts nothing.
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
  return isGated(pod) ? [] : [POD_INDEXERS.user(pod), pod.attachedTo];
}

/** Whatever became of a Network, the pods that wait for it are looked at. */
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
