import type { Informer } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { ClusterNode, RangeHolder } from '../ipam/cluster-objects.ts';
import type { ClusterRanges } from '../ipam/cluster-ranges.ts';
import type { MeshNetwork } from '../providers/multus/cni-config.ts';
import type { MultusReason } from '../providers/multus/reasons.ts';
import type { Limit } from '../providers/provider.ts';

/** How far networks of Multus reach. */
export interface NodeCoverage {
  /** Why pods on some nodes would not be on the network (undefined: one that is not joined); undefined where all are. */
  limitOf(network: MeshNetwork | undefined): Limit<MultusReason> | undefined;
  /** Where node agents join the nodes. */
  readonly mesh?: {
    /** What a network carries that says nothing of it, in bytes. */
    mtu(): number;
    /** How many addresses it has for pods. */
    capacityOf(network: MeshNetwork): number;
  };
}

/** Networks whose bridge is on each node apart: they are whole where there is one node. */
export function singleNodeReach(nodes: Pick<Lister<RangeHolder>, 'size'>): NodeCoverage {
  return { limitOf: () => singleNodeOnly(nodes.size) };
}

/** The limit of a network that is on each of so many nodes apart. */
export function singleNodeOnly(nodes: number): Limit<MultusReason> | undefined {
  if (nodes <= 1) return undefined;
  const message = `this cluster has ${nodes} nodes, and a network of Multus is on each of them apart: pods on different nodes would not reach each other`;
  return { reason: 'SingleNodeOnly', message };
}

/** Follows the nodes: `ranges` has their addresses and those of their pods, and `onReach` is called when there comes to be one, or more. */
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
