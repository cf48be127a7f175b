import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { Usage } from '../providers/provider.ts';
import { isGated, type NetworkPod, networksOf } from './network-pods.ts';

/**
 * Who uses which Network: live pods that name it or that Multus has attached to it, unless they are still gated. A pod
 * counts from the moment on in which its gate is about to be lifted, whatever the cache shows until that is through:
 * else a Network could go between the decision to let a pod in and the pod's arrival.
 */
export class NetworkUsers {
  readonly #pods: Lister<NetworkPod>;
  readonly #reserved = new Map<ObjectKey, NetworkPod>();
  /** The same pods, by the Networks that they use. */
  readonly #reservedOn = new Map<ObjectKey, Set<NetworkPod>>();

  /** `pods` has the indices POD_INDEXERS, and has synced before the first question. */
  constructor(pods: Lister<NetworkPod>) {
    this.#pods = pods;
  }

  usageOf(network: ObjectKey): Usage {
    const users = [...this.#pods.byIndex('user', network), ...this.#onTheirWay(network)];
    const allocated = users
      .flatMap(({ attachedTo }) => attachedTo.filter((attached) => attached.network === network))
      .reduce((sum, { addresses }) => sum + addresses, 0);
    return { pods: users.map(keyOf), allocated };
  }

  /** The pod's gate is about to be lifted. */
  reserve(pod: NetworkPod): void {
    this.#forget(keyOf(pod));
    this.#reserved.set(keyOf(pod), pod);
    for (const network of networksOf(pod)) {
      this.#reservedOn.set(network, (this.#reservedOn.get(network) ?? new Set()).add(pod));
    }
  }

  /** Its gate was not lifted, or the cache shows what has become of it. */
  settle(pod: NetworkPod): void {
    if (this.#reserved.get(keyOf(pod))?.metadata.uid === pod.metadata.uid) this.#forget(keyOf(pod));
  }

  #onTheirWay(network: ObjectKey): readonly NetworkPod[] {
    return [...(this.#reservedOn.get(network) ?? [])].filter((pod) => {
      const cached = this.#pods.get(keyOf(pod));
      const isThere = cached !== undefined && cached.metadata.uid === pod.metadata.uid;
      return isThere && isGated(cached);
    });
  }

  #forget(key: ObjectKey): void {
    const pod = this.#reserved.get(key);
    if (!pod) return;
    this.#reserved.delete(key);
    for (const network of networksOf(pod)) {
      const others = this.#reservedOn.get(network);
      others?.delete(pod);
      if (others?.size === 0) this.#reservedOn.delete(network);
    }
  }
}
