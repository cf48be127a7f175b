import ipaddr from 'ipaddr.js';
import { type NodeTable, own } from '../network/nodes/node-table.ts';
import type { Underlay } from './bridge-plan.ts';

/** How the node reaches the other nodes of the table: by its first address and theirs of the same family. */
export interface Reachable extends Underlay {
  /** Nodes that have addresses, but none of that family. A node without addresses reports that itself. */
  readonly unreachable: readonly string[];
}

/** The underlay of the node; undefined if it is not in the table or has no address. */
export function underlayOf(table: NodeTable, node: string): Reachable | undefined {
  const local = own(table, node)?.addresses.find((address) => ipaddr.isValid(address));
  if (local === undefined) return undefined;
  const family = familyOf(local);
  const others = Object.entries(table)
    .filter(([name]) => name !== node)
    .map(([name, { addresses }]) => ({ name, addresses: addresses.filter(ipaddr.isValid) }))
    .filter(({ addresses }) => addresses.length > 0)
    .map(({ name, addresses }) => ({
      name,
      address: addresses.find((address) => familyOf(address) === family),
    }));
  return {
    local,
    peers: others.flatMap(({ address }) => address ?? []),
    unreachable: others.filter(({ address }) => address === undefined).map(({ name }) => name),
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return ipaddr.parse(address).kind();
}
