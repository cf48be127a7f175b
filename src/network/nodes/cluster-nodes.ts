import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { ClusterNode, RangeHolder } from '../ipam/cluster-objects.ts';
import type { ClusterRanges } from '../ipam/cluster-ranges.ts';
import type { MeshNetwork } from '../providers/multus/cni-config.ts';
import type { MultusReason } from '../providers/multus/reasons.ts';
import type { Limit } from '../providers/provider.ts';

/** Which nodes the networks of Multus cover. */
export interface NodeCoverage {
  /**
   * Why the network does not cover all nodes; undefined if it does. An undefined network is one that is not joined.
   */
  limitOf(network: MeshNetwork | undefined): Limit<MultusReason> | undefined;
  /** Set if node agents join the nodes. */
  readonly mesh?: {
    /** The default MTU of a network, in bytes. */
    mtu(): number;
    /** How many addresses the network has for pods. */
    capacityOf(network: MeshNetwork): number;
  };
}

/** Coverage of networks with a separate bridge on each node: complete only if the cluster has one node. */
export function singleNodeReach(nodes: Pick<Lister<RangeHolder>, 'size'>): NodeCoverage {
  return { limitOf: () => singleNodeOnly(nodes.size) };
}

/** The limit of a network that is separate on each node; undefined if there is only one node. */
export function singleNodeOnly(nodes: number): Limit<MultusReason> | undefined {
  if (nodes <= 1) return undefined;
  const message = `this cluster has ${nodes} nodes, but a Multus network is separate on each node: pods on different nodes cannot reach each other`;
  return { reason: 'SingleNodeOnly', message };
}

/**
 * Keeps the addresses of nodes and of their pods in `ranges`. Calls `onReach` when the number of nodes changes from
 * one to more, or back.
 */
export function followNodes(
  nodes: Pick<Informer<ClusterNode>, 'lister' | 'addEventHandler'>,
  ranges: Pick<ClusterRanges, 'set'>,
  onReach: () => void,
): void {
  let several = false;
  const changed = (name: string, cidrs: readonly string[], addresses: readonly string[]) => {
    ranges.set(`node ${name}`, addresses);
    ranges.set(`the pods of node ${name}`, cidrs);
    if (nodes.lister.size > 1 === several) return;
    several = !several;
    onReach();
  };
  const follow = ({ metadata: { name }, cidrs, addresses }: ClusterNode) => changed(name, cidrs, addresses);
  nodes.addEventHandler({
    onAdd: follow,
    onUpdate: (_, node) => follow(node),
    onDelete: ({ metadata: { name } }) => changed(name, [], []),
  });
}
