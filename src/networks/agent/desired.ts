import ipaddr from 'ipaddr.js';
import { identityOf, type KubeObject, keyOf, type ObjectKey } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network, NetworkStatus } from '../api/types.ts';
import { bridgeName, isVni } from '../multus/cni-config.ts';
import { gatewayProblem, parseRange, type Range } from '../ranges/cidr.ts';

/** A range of a Network, and its gateway, which each node has. */
export interface GatewayRange {
  readonly range: Range;
  readonly gateway: string;
}

/** What the agent of a node caches of a Network: from its status, which only the operator writes. */
export interface AgentNetwork extends KubeObject {
  readonly bridge: string;
  readonly provider: string | undefined;
  /** Whether the status names this node. */
  readonly isHere: boolean;
  /** How to join it; undefined if its status is incomplete. */
  readonly network: NodeNetwork | undefined;
}

/** Networks, as the agent of this node caches them. With thousands of nodes, it takes longest to read them. */
export function agentNetworks(node: string): Resource<AgentNetwork> {
  return { ...NETWORKS, decode: (value) => agentNetwork(NETWORKS.decode(value), node) };
}

/** A Network that a node can join. */
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

export function agentNetwork(network: Network, node: string): AgentNetwork {
  const { status = {} } = network;
  const { provider, vni, nodes = [], mtu, secondary } = status;
  const key = keyOf(network);
  const bridge = bridgeName(key);
  const isHere = nodes.some(({ name }) => name === node);
  const ranges = [status, ...(secondary ? [secondary] : [])].map(gatewayRange);
  const common = { metadata: identityOf(network), bridge, provider, isHere };
  if (!status.nodes || !isVni(vni) || !ranges.every((range) => range !== undefined))
    return { ...common, network: undefined };
  const others = nodes.filter(({ name, address }) => name !== node && ipaddr.isValid(address));
  return { ...common, network: { key, bridge, vni, mtu, ranges, others, isHere } };
}

function gatewayRange({
  cidr = '',
  gateway = '',
}: Pick<NetworkStatus, 'cidr' | 'gateway'>): GatewayRange | undefined {
  const range = parseRange(cidr);
  return range && gatewayProblem(gateway, range) === undefined ? { range, gateway } : undefined;
}
