import { bitsOf, type Range } from '../network/ipam/cidr.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';
import { ALL_PEERS, type BridgeLink, type NodeLinks, type TunnelLink, tunnelName } from './links.ts';

/** How this node reaches the others. */
export interface Underlay {
  readonly local: string;
  readonly peers: readonly string[];
}

/** What brings a node closer to the mesh that there should be: lines for `ip -batch` and for `bridge -batch`. */
export interface MeshStep {
  /** The tunnel that it is about. */
  readonly tunnel: string;
  readonly ip: readonly string[];
  readonly bridge: readonly string[];
}

/** VXLAN's port (RFC 7348 section 5). Networks of others with other VNIs can share it. */
const VXLAN_PORT = 4789;

/**
 * What is to be done so that each bridge is joined with those of its Network on the other nodes; nothing where it is.
 * Tunnels of other Networks are left alone: what a list does not show may be a fault of the list.
 *
 * The gateway is on every node, with one address and one hardware address, and each pod uses that of its own node:
 * `neigh_suppress` keeps questions for an address that the bridge itself has out of the tunnel. So what a pod sends to the gateway
 * takes no detour, finds the rules by which it leaves the node, and a node that goes takes no gateway along.
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

/** Whether the node has the gateway of the Network already. */
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

/** What cannot be changed of one that is there. */
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
    // Other nodes have it, too: to ask whether somebody does would be to be told so.
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
          // An address of its own would be one of every node's pods.
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
 * VXLAN drops what comes from another peer than the one that a static entry names, which here is the node itself: what
 * other nodes send with the gateway's hardware address ends there, and is not taken for our own.
 */
function guardLines(
  tunnel: string,
  { vni }: MeshNetwork,
  { local }: Underlay,
  kept: TunnelLink | undefined,
): readonly string[] {
  const guard = gatewayMac(vni);
  const isGuarded = kept?.fixed.some(({ mac, peer }) => mac === guard && peer === local);
  // One of them may have been heard before.
  return isGuarded ? [] : [`fdb replace ${guard} dev ${tunnel} dst ${local} static`];
}

/** One for all nodes: locally administered (IEEE 802c, the second bit), and of the VNI, which no other Network has. */
function gatewayMac(vni: number): string {
  return ['02', '6e', '77', ...(vni.toString(16).padStart(6, '0').match(/../g) ?? [])].join(':');
}

function isSix({ address }: Range): boolean {
  return bitsOf(address) === 128;
}
