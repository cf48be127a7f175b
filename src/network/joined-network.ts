import { keyOf } from '../kube/object.ts';
import { isVni, type JoinedNetwork, joinedNetwork, MESH_MTU, SMALLEST_MESH_MTU } from './cni-config.ts';
import type { NodeTable, TableEntry } from './node-table.ts';
import { recordedShape } from './shape.ts';
import type { Network } from './types.ts';

/**
 * How agents join the Network, by its status alone, which only the operator writes; undefined where it does not tell.
 * `mtu` is what a network carries that says nothing of it, in bytes.
 */
export function joinedNetworkOf(network: Network, mtu: number): JoinedNetwork | undefined {
  const shape = recordedShape(network);
  const { vni } = network.status ?? {};
  return shape && isVni(vni) ? joinedNetwork(keyOf(network), shape, { vni, mtu }) : undefined;
}

/** What a network carries that says nothing of it, in bytes, on these nodes. */
export function meshMtu(table: NodeTable): number {
  return Object.values(table).some(isSix) ? SMALLEST_MESH_MTU : MESH_MTU;
}

function isSix({ addresses: [first = ''] }: TableEntry): boolean {
  return first.includes(':');
}
