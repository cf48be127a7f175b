import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { IpamState } from '../addresses/ipam-state.ts';
import { isGated, type NetworkPod, networksOf } from '../pods/network-pods.ts';
import type { Usage } from '../providers.ts';

/**
 * The users of each Network: live pods without a gate that name it, or that Multus attached to it. A pod counts as
 * soon as the operator decides to remove its gate, whatever the cache shows. Otherwise the operator could delete a
 * Network between the decision and the start of the pod.
 */
export class NetworkUsers {
  readonly #pods: Lister<NetworkPod>;
  readonly #ipam: Pick<IpamState, 'countsOf'>;
  /** The pods whose gates are about to go. */
  readonly #reserved = new Map<ObjectKey, NetworkPod>();

  /** `pods` has the indexers POD_INDEXERS, and is synced before the first call. */
  constructor(pods: Lister<NetworkPod>, ipam: Pick<IpamState, 'countsOf'> = { countsOf: () => undefined }) {
    this.#pods = pods;
    this.#ipam = ipam;
  }

  usageOf(network: ObjectKey): Usage & { readonly nodeNames: readonly string[] } {
    const onTheirWay = [...this.#reserved.values()].filter((pod) => {
      const cached = this.#pods.get(keyOf(pod));
      const isThere = cached !== undefined && cached.metadata.uid === pod.metadata.uid;
      return isThere && isGated(cached) && networksOf(pod).includes(network);
    });
    const users = [...this.#pods.byIndex('user', network), ...onTheirWay];
    const nodeNames = [...new Set(users.flatMap(({ nodeName }) => nodeName ?? []))];
    const counts = this.#ipam.countsOf(network);
    if (counts) return { pods: users.map(keyOf), allocated: counts.taken, total: counts.total, nodeNames };
    const attached = users.flatMap(({ attachedTo }) => attachedTo.filter((each) => each.network === network));
    return { pods: users.map(keyOf), allocated: attached.flatMap(({ ips }) => ips).length, nodeNames };
  }

  /** Counts a pod whose gate the operator is about to remove. */
  reserve(pod: NetworkPod): void {
    this.#reserved.set(keyOf(pod), pod);
  }

  /** Forgets a reservation: the gate stays, or the cache shows the result. */
  settle(pod: NetworkPod): void {
    const key = keyOf(pod);
    if (this.#reserved.get(key)?.metadata.uid === pod.metadata.uid) this.#reserved.delete(key);
  }
}
