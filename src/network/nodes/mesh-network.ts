import { keyOf } from '../../kube/api/object.ts';
import { recordedSubnet } from '../api/subnet.ts';
import type { Network } from '../api/types.ts';
import {
  isVni,
  MESH_MTU,
  type MeshNetwork,
  meshNetwork,
  SMALLEST_MESH_MTU,
} from '../providers/multus/cni-config.ts';
import type { NodeTable, TableEntry } from './node-table.ts';

/**
 * How agents join the Network, from its status, which only the operator writes; undefined if the status is
 * incomplete. `mtu` is the default MTU, in bytes.
 */
export function meshNetworkOf(network: Network, mtu: number): MeshNetwork | undefined {
  const subnet = recordedSubnet(network);
  const { vni } = network.status ?? {};
  return subnet && isVni(vni) ? meshNetwork(keyOf(network), subnet, { vni, mtu }) : undefined;
}

/** The default MTU of a network on these nodes, in bytes. */
export function meshMtu(table: NodeTable): number {
  return Object.values(table).some(isSix) ? SMALLEST_MESH_MTU : MESH_MTU;
}

function isSix({ addresses: [first = ''] }: TableEntry): boolean {
  return first.includes(':');
}
