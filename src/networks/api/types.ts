// Generated from crd/networks.yaml by `node hack/generate-types.ts`: do not edit.

import type { ObjectMeta } from '../../kube/api/object.ts';

/**
 * A Network declares a network to which pods can attach. Its provider creates, updates and deletes the real network with this object.
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
 * Desired state of the network.
 */
export interface NetworkSpec {
  /**
   * The range of addresses, IPv4 or IPv6, in canonical form, for example 192.168.0.0/16 or fd00:1::/64. Can be changed. The change waits until no pod uses the network.
   */
  readonly cidr: string;
  /**
   * The address of the gateway: inside the range, and neither its network nor its broadcast address. Can be changed under the same conditions as cidr.
   */
  readonly gateway: string;
  /**
   * A range of the other family, for pods with an IPv4 and an IPv6 address. Can be changed under the same conditions as cidr.
   */
  readonly secondary?: {
    /**
     * The range of addresses, as spec.cidr.
     */
    readonly cidr: string;
    /**
     * The address of the gateway, as spec.gateway.
     */
    readonly gateway: string;
  };
  /**
   * Ranges that pods get no addresses of, unless they ask for one. Can be changed at any time.
   *
   * @maxItems 64
   */
  readonly exclude?: readonly string[];
  /**
   * The provider of the network: multus (a NetworkAttachmentDefinition to which pods attach) or neutron (OpenStack). Defaults to the operator's --network-provider. Cannot be changed.
   */
  readonly provider?: 'multus' | 'neutron';
  /**
   * The maximum size of packets in bytes, at least 1280 for IPv6. Defaults to the provider's choice. Can be changed under the same conditions as cidr.
   */
  readonly mtu?: number;
  /**
   * What happens to the real network when this object is deleted: Delete (the default) deletes it, Retain keeps it unmanaged.
   */
  readonly deletionPolicy?: 'Delete' | 'Retain';
}
/**
 * Observed state of the network. Only the operator writes it.
 */
export interface NetworkStatus {
  /**
   * The metadata.generation that this status describes.
   */
  readonly observedGeneration?: number;
  /**
   * Accepted: the spec is valid, and its range is free. Ready: new pods get an interface on the network, unless the reason is ProviderCannotAttach. NodesReady: the nodes with pods of the network are connected. Progressing: the operator retries, or waits before a change. InUse: pods are attached.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly Condition[];
  /**
   * The range of the real network.
   */
  readonly cidr?: string;
  /**
   * The gateway of the real network.
   */
  readonly gateway?: string;
  /**
   * The MTU of the real network; absent if the provider decides, as Neutron does.
   */
  readonly mtu?: number;
  /**
   * The second range of the real network.
   */
  readonly secondary?: {
    /**
     * The range.
     */
    readonly cidr: string;
    /**
     * The gateway.
     */
    readonly gateway: string;
  };
  /**
   * The VXLAN identifier with which node agents connect the nodes; absent if the provider connects them.
   */
  readonly vni?: number;
  /**
   * The nodes on which live pods use the network, sorted by name. Their node agents connect them.
   *
   * @maxItems 10000
   */
  readonly nodes?: readonly NetworkNode[];
  /**
   * The provider of the real network.
   */
  readonly provider?: string;
  /**
   * The network's ID in the provider: Neutron's UUID. A Multus network has none: it is the NetworkAttachmentDefinition of the same name.
   */
  readonly externalID?: string;
  readonly capacity?: NetworkCapacity;
  /**
   * The number of attached pods; absent if the provider does not count them.
   */
  readonly attachedPods?: number;
}
/**
 * One aspect of the network's state.
 */
export interface Condition {
  /**
   * The aspect, for example Ready.
   */
  readonly type: string;
  /**
   * Whether the condition is true.
   */
  readonly status: 'True' | 'False' | 'Unknown';
  /**
   * The metadata.generation that this condition describes.
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
 * A node with pods on the network.
 */
export interface NetworkNode {
  /**
   * The name of the node.
   */
  readonly name: string;
  /**
   * The address by which other nodes reach it.
   */
  readonly address: string;
}
/**
 * The addresses of the network for pods.
 */
export interface NetworkCapacity {
  /**
   * The number of addresses for pods, at most 2^53 - 1 = 9007199254740991, the largest integer that is exact in JSON.
   */
  readonly total?: number;
  /**
   * The number of addresses in use; absent if the provider does not count them.
   */
  readonly allocated?: number;
}
