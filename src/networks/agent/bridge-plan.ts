import type { NodeNetwork } from './desired.ts';
import {
  ALL_PEERS,
  type BridgeLink,
  bridgeNames,
  type NodeLinks,
  type TunnelLink,
  tunnelName,
} from './links.ts';

/** How a node's bridge reaches the bridges of its Network on other nodes. */
export interface Mesh {
  readonly local: string;
  readonly peers: readonly string[];
  readonly port: number;
  /** In bytes. */
  readonly mtu: number;
}

/** Changes of one bridge and its tunnel: lines for `ip -batch` and for `bridge -batch`. */
export interface Step {
  readonly bridge: string;
  readonly ip: readonly string[];
  readonly fdb: readonly string[];
}

/**
 * Returns the step that joins the bridge with those of its Network on other nodes; without lines if it is joined.
 *
 * Every node has the gateways, with the same addresses and hardware address, and each pod uses those of its own
 * node: `neigh_suppress` keeps neighbour requests for addresses of the bridge out of the tunnel. So traffic to the
 * gateway stays on the node, where the rules for leaving it are. And the loss of a node never removes the gateway
 * of others.
 */
export function joinStep(network: NodeNetwork, mesh: Mesh, links: NodeLinks): Step {
  const { bridge, vni } = network;
  const tunnel = tunnelName(bridge);
  const found = links.tunnels.get(tunnel);
  const kept = found && isTunnelOf(found, vni, mesh) ? found : undefined;
  return {
    bridge,
    ip: [
      ...bridgeLines(network, links.bridges.get(bridge)),
      ...(found && !kept ? [`link delete dev ${tunnel}`] : []),
      ...tunnelLines(network, mesh, kept),
    ],
    fdb: [...guardLines(network, mesh, kept), ...peerLines(tunnel, mesh.peers, kept)],
  };
}

export function removeStep(bridge: string, { bridges, tunnels }: NodeLinks): Step {
  const tunnel = tunnelName(bridge);
  const ip = [tunnels.has(tunnel) ? tunnel : [], bridges.has(bridge) ? bridge : []].flat();
  return { bridge, ip: ip.map((name) => `link delete dev ${name}`), fdb: [] };
}

/** Whether the node already has the gateways of the Network. */
export function hasGateways(network: NodeNetwork, { bridges }: NodeLinks): boolean {
  const addresses = bridges.get(network.bridge)?.addresses ?? [];
  return gatewayAddresses(network).every(({ address }) => addresses.includes(address));
}

/** The bridges without pods that no Network of the node has. */
export function unneededBridges(
  links: NodeLinks,
  isNeeded: (bridge: string) => boolean,
): ReadonlySet<string> {
  const names = [...bridgeNames(links)];
  return new Set(names.filter((name) => !links.plugged.has(name) && !isNeeded(name)));
}

function gatewayAddresses({ ranges }: NodeNetwork) {
  return ranges.map(({ gateway, range }) => ({ address: `${gateway}/${range.prefixLength}`, range }));
}

/** Whether the fields that cannot be changed are right. */
function isTunnelOf(found: TunnelLink, vni: number, { local, port }: Mesh): boolean {
  return found.vni === vni && found.local === local && found.port === port;
}

function bridgeLines(network: NodeNetwork, found: BridgeLink | undefined): readonly string[] {
  const { bridge, vni } = network;
  const wanted = gatewayAddresses(network);
  const mac = gatewayMac(vni);
  const others = found?.addresses.filter((other) => !wanted.some(({ address }) => address === other)) ?? [];
  return [
    // CNI's plugin makes it, too, when a pod comes: in two lines, because it may be there by then.
    ...(found ? [] : [`link add name ${bridge} type bridge`]),
    ...(found?.mac !== mac ? [`link set dev ${bridge} address ${mac}`] : []),
    ...(found?.isUp ? [] : [`link set dev ${bridge} up`]),
    ...others.map((other) => `address delete ${other} dev ${bridge}`),
    // Without duplicate address detection: other nodes have the address, too.
    ...wanted
      .filter(({ address }) => !found?.addresses.includes(address))
      .map(
        ({ address, range }) =>
          `address add ${address} dev ${bridge}${range.address.kind() === 'ipv6' ? ' nodad' : ''}`,
      ),
  ];
}

function tunnelLines(
  { bridge, vni }: NodeNetwork,
  { local, port, mtu }: Mesh,
  kept: TunnelLink | undefined,
): readonly string[] {
  const tunnel = tunnelName(bridge);
  return [
    ...(kept
      ? []
      : [
          `link add name ${tunnel} mtu ${mtu} type vxlan id ${vni} local ${local} dstport ${port}`,
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
    ...[...wanted]
      .filter((peer) => !there.has(peer))
      .map((peer) => `fdb append ${ALL_PEERS} dev ${tunnel} dst ${peer}`),
  ];
}

/**
 * Adds a static entry for the gateway's hardware address that names the node itself. VXLAN drops packets with this
 * source address from any other peer, so the gateway of another node never replaces this one.
 */
function guardLines(
  { bridge, vni }: NodeNetwork,
  { local }: Mesh,
  kept: TunnelLink | undefined,
): readonly string[] {
  const guard = gatewayMac(vni);
  const isGuarded = kept?.fixed.some(({ mac, peer }) => mac === guard && peer === local);
  // `replace`, because the kernel may have learned the address before.
  return isGuarded ? [] : [`fdb replace ${guard} dev ${tunnelName(bridge)} dst ${local} static`];
}

/** The same on all nodes: locally administered (IEEE 802c, the second bit), with the VNI, which is unique. */
function gatewayMac(vni: number): string {
  return ['02', '6e', '77', ...(vni.toString(16).padStart(6, '0').match(/../g) ?? [])].join(':');
}
