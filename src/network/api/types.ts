// Generated from crd/networks.yaml by `node hack/generate-types.ts`: do not edit.

import type { ObjectMeta } from '../../kube/api/object.ts';

/**
 * A Network is a real network that pods can attach to. Creating one makes the cluster's network provider realise it, changing it updates that network, and deleting it removes it.
 */
export interface Network {
  /**
   * Version of this representation of the object, samplecrd.k8s.io/v1.
   */
  readonly apiVersion?: string;
  /**
   * Kind of the object, Network.
   */
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: NetworkSpec;
  readonly status?: NetworkStatus;
}
/**
 * The network that there should be.
 */
export interface NetworkSpec {
  /**
   * The range of addresses, IPv4 or IPv6, in canonical form, for example 192.168.0.0/16 or fd00:1::/64. It may change: at once while no pod is known to use the network, otherwise when the last one that does is gone.
   */
  readonly cidr: string;
  /**
   * The gateway's address: inside the range, and neither its network nor its broadcast address. It may change as the range may.
   */
  readonly gateway: string;
  /**
   * Who realises the network: multus (a NetworkAttachmentDefinition that pods attach to) or neutron (OpenStack). Left out, it is the operator's --network-provider. It cannot change.
   */
  readonly provider?: 'multus' | 'neutron';
  /**
   * The largest packet, in bytes, that the network carries; at least 1280 for IPv6. Left out, the provider decides. It may change as the range may.
   */
  readonly mtu?: number;
  /**
   * What becomes of the real network when this object is deleted: Delete removes it, Retain leaves it behind, no longer managed. Left out, it is removed.
   */
  readonly deletionPolicy?: 'Delete' | 'Retain';
}
/**
 * The network that there is. Written by the operator alone, and only when it changes.
 */
export interface NetworkStatus {
  /**
   * The metadata.generation of the spec that this status speaks of.
   */
  readonly observedGeneration?: number;
  /**
   * Accepted: the spec is valid, and no other Network and nothing of the cluster has its range. Ready: the network is there; a pod created now gets an interface on it, unless the reason is ProviderCannotAttach. Progressing: the operator is still changing it, or retries. InUse: pods are attached to it.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly Condition[];
  /**
   * The range that the real network has.
   */
  readonly cidr?: string;
  /**
   * The gateway that the real network has.
   */
  readonly gateway?: string;
  /**
   * The MTU that the real network was given; absent where the provider decides.
   */
  readonly mtu?: number;
  /**
   * The VXLAN identifier by which node agents join the network over the nodes; absent where none do.
   */
  readonly vni?: number;
  /**
   * Who realises the network.
   */
  readonly provider?: string;
  /**
   * The network's ID in the provider, where it has one: Neutron's UUID. A Multus network is the NetworkAttachmentDefinition of the same name.
   */
  readonly externalID?: string;
  readonly capacity?: NetworkCapacity;
  /**
   * How many pods are attached, as last counted; absent where nobody counts them.
   */
  readonly attachedPods?: number;
}
/**
 * One aspect of the network's state.
 */
export interface Condition {
  /**
   * Which aspect, for example Ready.
   */
  readonly type: string;
  /**
   * Whether it holds.
   */
  readonly status: 'True' | 'False' | 'Unknown';
  /**
   * The metadata.generation that it was judged by.
   */
  readonly observedGeneration?: number;
  /**
   * When the status last changed.
   */
  readonly lastTransitionTime: string;
  /**
   * Why, in one word for programs.
   */
  readonly reason: string;
  /**
   * Why, for people.
   */
  readonly message: string;
}
/**
 * How many addresses the network has for pods.
 */
export interface NetworkCapacity {
  /**
   * Addresses that pods can have. IPv6 ranges hold more than JSON numbers can say exactly: from 2^53 - 1 = 9007199254740991 on, it stays at that.
   */
  readonly total?: number;
  /**
   * Addresses that pods have; absent where nobody counts them.
   */
  readonly allocated?: number;
}
