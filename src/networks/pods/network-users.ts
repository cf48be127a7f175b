import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { IpamState } from '../addresses/ipam-state.ts';
import type { Usage } from '../providers.ts';
import { isGated, type NetworkPod, networksOf } from './network-pods.ts';

/**
 * The users of each Network: live pods without a gate that name it, or that Multus attached to it. A pod counts as
 * soon as the operator decides to remove its gate, whatever the cache shows. Otherwise the operator could delete a
 * Network between the decision and the start of the pod.
 */
export class NetworkUsers {
  readonly #pods: Lister<NetworkPod>;
  readonly #ipam: Pick<IpamState, 'countsOf'>;
  readonly #reserved = new Map<ObjectKey, NetworkPod>();
  /** The same pods, by the Networks that they use. */
  readonly #reservedOn = new Map<ObjectKey, Set<NetworkPod>>();

  /** `pods` has the indexers POD_INDEXERS, and is synced before the first call. */
  constructor(pods: Lister<NetworkPod>, ipam: Pick<IpamState, 'countsOf'> = { countsOf: () => undefined }) {
    this.#pods = pods;
    this.#ipam = ipam;
  }

  usageOf(network: ObjectKey): Usage & { readonly nodeNames: readonly string[] } {
    const users = [...this.#pods.byIndex('user', network), ...this.#onTheirWay(network)];
    const nodeNames = [...new Set(users.flatMap(({ nodeName }) => nodeName ?? []))];
    const counts = this.#ipam.countsOf(network);
    if (counts) return { pods: users.map(keyOf), allocated: counts.taken, total: counts.total, nodeNames };
    const allocated = users
      .flatMap(({ attachedTo }) => attachedTo.filter((attached) => attached.network === network))
      .reduce((sum, { ips }) => sum + ips.length, 0);
    return { pods: users.map(keyOf), allocated, nodeNames };
  }

  /** The pods that run without their interface on the Network, by node. */
  unattachedOn(network: ObjectKey): ReadonlyMap<string, readonly ObjectKey[]> {
    const found = new Map<string, ObjectKey[]>();
    for (const pod of this.#pods.byIndex('unattached', network)) {
      const { nodeName = '' } = pod;
      found.set(nodeName, [...(found.get(nodeName) ?? []), keyOf(pod)]);
    }
    return found;
  }

  /** Counts a pod whose gate the operator is about to remove. */
  reserve(pod: NetworkPod): void {
    this.#forget(keyOf(pod));
    this.#reserved.set(keyOf(pod), pod);
    for (const network of networksOf(pod)) {
      this.#reservedOn.set(network, (this.#reservedOn.get(network) ?? new Set()).add(pod));
    }
  }

  /** Forgets a reservation: the gate stays, or the cache shows the result. */
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
