import ipaddr from 'ipaddr.js';
import { keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import { bridgeName, isVni } from '../multus/cni-config.ts';
import { gatewayProblem, parseRange, type Range } from '../ranges/cidr.ts';

/** A range of a Network, and its gateway, which each node has. */
export interface GatewayRange {
  readonly range: Range;
  readonly gateway: string;
}

/** A Network on this node, from its status, which only the operator writes. */
export interface NodeNetwork {
  readonly key: ObjectKey;
  readonly bridge: string;
  readonly vni: number;
  /** In bytes; undefined if the operator has not chosen it. */
  readonly mtu: number | undefined;
  /** One range, or one of each family. */
  readonly ranges: readonly GatewayRange[];
  /** The other nodes with pods of the Network. */
  readonly others: readonly { readonly name: string; readonly address: string }[];
  /** Whether the status names this node. */
  readonly isHere: boolean;
}

/** Reads a Network; undefined if its status is incomplete. */
export function nodeNetworkOf(network: Network, node: string): NodeNetwork | undefined {
  const { status = {} } = network;
  const { vni, nodes, mtu, secondary } = status;
  const ranges = [status, ...(secondary ? [secondary] : [])].map(gatewayRange);
  if (!nodes || !isVni(vni) || !ranges.every((range) => range !== undefined)) return undefined;
  const key = keyOf(network);
  return {
    key,
    bridge: bridgeName(key),
    vni,
    mtu,
    ranges,
    others: nodes.filter(({ name, address }) => name !== node && ipaddr.isValid(address)),
    isHere: nodes.some(({ name }) => name === node),
  };
}

function gatewayRange({
  cidr = '',
  gateway = '',
}: Pick<NetworkStatus, 'cidr' | 'gateway'>): GatewayRange | undefined {
  const range = parseRange(cidr);
  return range && gatewayProblem(gateway, range) === undefined ? { range, gateway } : undefined;
}
