import { bitsOf, type Range } from '../network/ipam/cidr.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';
import { ALL_PEERS, type BridgeLink, type NodeLinks, type TunnelLink, tunnelName } from './links.ts';

/** The addresses of this node and of the others. */
export interface Underlay {
  readonly local: string;
  readonly peers: readonly string[];
}

/** Changes of one tunnel and its bridge: lines for `ip -batch` and for `bridge -batch`. */
export interface MeshStep {
  /** The tunnel that it changes. */
  readonly tunnel: string;
  readonly ip: readonly string[];
  readonly bridge: readonly string[];
}

/** VXLAN's port (RFC 7348 section 5). Other software can share it with other VNIs. */
const VXLAN_PORT = 4789;

/**
 * Returns the steps that join each bridge with the bridges of its Network on the other nodes; empty if all are
 * joined. Never deletes tunnels of other Networks: a Network that a list lacks may exist.
 *
 * Every node has the gateway, with the same address and hardware address, and each pod uses the one of its own
 * node: `neigh_suppress` keeps neighbour requests for addresses of the bridge out of the tunnel. So traffic to the
 * gateway stays on the node, where the rules for leaving it are. And the loss of a node never removes the gateway
 * of others.
 */
export function meshPlan(
  networks: readonly MeshNetwork[],
  underlay: Underlay,
  links: NodeLinks,
): readonly MeshStep[] {
  return networks
    .map((network) => stepFor(network, underlay, links))
    .filter(({ ip, bridge }) => ip.length + bridge.length > 0);
}

/** Whether the node already has the gateway of the Network. */
export function hasGateway(network: MeshNetwork, { bridges }: NodeLinks): boolean {
  return bridges.get(network.bridge)?.addresses.includes(gatewayAddress(network)) ?? false;
}

function gatewayAddress({ gateway, range }: MeshNetwork): string {
  return `${gateway}/${range.prefixLength}`;
}

function stepFor(network: MeshNetwork, underlay: Underlay, links: NodeLinks): MeshStep {
  const tunnel = tunnelName(network.bridge);
  const found = links.tunnels.get(tunnel);
  const kept = found && isTunnelOf(found, network, underlay) ? found : undefined;
  return {
    tunnel,
    ip: [
      ...bridgeLines(network, links.bridges.get(network.bridge)),
      ...(found && !kept ? [`link delete dev ${tunnel}`] : []),
      ...tunnelLines(tunnel, network, underlay, kept),
    ],
    bridge: [...guardLines(tunnel, network, underlay, kept), ...peerLines(tunnel, underlay.peers, kept)],
  };
}

/** Whether the fields that cannot be changed are right. */
function isTunnelOf({ vni, local, port }: TunnelLink, network: MeshNetwork, underlay: Underlay): boolean {
  return vni === network.vni && local === underlay.local && port === VXLAN_PORT;
}

function bridgeLines(network: MeshNetwork, found: BridgeLink | undefined): readonly string[] {
  const { bridge, vni, range } = network;
  const address = gatewayAddress(network);
  const mac = gatewayMac(vni);
  const others = found?.addresses.filter((other) => other !== address) ?? [];
  return [
    ...(found ? [] : [`link add name ${bridge} address ${mac} type bridge`]),
    ...(found && found.mac !== mac ? [`link set dev ${bridge} address ${mac}`] : []),
    ...(found?.isUp ? [] : [`link set dev ${bridge} up`]),
    ...others.map((other) => `address delete ${other} dev ${bridge}`),
    // Without duplicate address detection: other nodes have the address, too.
    ...(found?.addresses.includes(address)
      ? []
      : [`address add ${address} dev ${bridge}${isSix(range) ? ' nodad' : ''}`]),
  ];
}

function tunnelLines(
  tunnel: string,
  { bridge, vni, mtu }: MeshNetwork,
  { local }: Underlay,
  kept: TunnelLink | undefined,
): readonly string[] {
  return [
    ...(kept
      ? []
      : [
          `link add name ${tunnel} mtu ${mtu} type vxlan id ${vni} local ${local} dstport ${VXLAN_PORT}`,
          // A link-local address of the tunnel would be visible to the pods of all nodes.
          `link set dev ${tunnel} addrgenmode none`,
        ]),
    ...(kept && kept.mtu !== mtu ? [`link set dev ${tunnel} mtu ${mtu}`] : []),
    ...(kept?.bridge === bridge ? [] : [`link set dev ${tunnel} master ${bridge}`]),
    ...(kept?.bridge === bridge && kept.suppressesNeighbours
      ? []
      : [`link set dev ${tunnel} type bridge_slave neigh_suppress on`]),
    ...(kept?.isUp ? [] : [`link set dev ${tunnel} up`]),
  ];
}

function peerLines(
  tunnel: string,
  peers: readonly string[],
  kept: TunnelLink | undefined,
): readonly string[] {
  const [wanted, there] = [new Set(peers), new Set(kept?.peers)];
  return [
    ...(kept?.learned ?? [])
      .filter(({ peer }) => !wanted.has(peer))
      .map(({ mac, peer }) => `fdb delete ${mac} dev ${tunnel} dst ${peer}`),
    ...[...there]
      .filter((peer) => !wanted.has(peer))
      .map((peer) => `fdb delete ${ALL_PEERS} dev ${tunnel} dst ${peer}`),
    ...peers
      .filter((peer) => !there.has(peer))
      .map((peer) => `fdb append ${ALL_PEERS} dev ${tunnel} dst ${peer}`),
  ];
}

/**
 * Adds a static entry for the gateway's hardware address that names the node itself. VXLAN drops packets with this
 * source address from any other peer, so the gateway of another node never replaces this one.
 */
function guardLines(
  tunnel: string,
  { vni }: MeshNetwork,
  { local }: Underlay,
  kept: TunnelLink | undefined,
): readonly string[] {
  const guard = gatewayMac(vni);
  const isGuarded = kept?.fixed.some(({ mac, peer }) => mac === guard && peer === local);
  // `replace`, because the kernel may have learned the address before.
  return isGuarded ? [] : [`fdb replace ${guard} dev ${tunnel} dst ${local} static`];
}

/** The same on all nodes: locally administered (IEEE 802c, the second bit), with the VNI, which is unique. */
function gatewayMac(vni: number): string {
  return ['02', '6e', '77', ...(vni.toString(16).padStart(6, '0').match(/../g) ?? [])].join(':');
}

function isSix({ address }: Range): boolean {
  return bitsOf(address) === 128;
}
