import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  own,
  ownObjects,
  ownString,
} from '../../util/json.ts';
import { readRange } from '../ranges/cidr.ts';
import type { ClusterRange } from '../ranges/cluster-ranges.ts';

export interface BridgeLink {
  readonly mac: string;
  readonly isUp: boolean;
  /** Addresses that are not link-local, as `192.0.2.1/24`. */
  readonly addresses: readonly string[];
}

/** A hardware address, and the peer that has it. */
export interface RemoteEntry {
  readonly mac: string;
  readonly peer: string;
}

export interface TunnelLink {
  readonly vni: number;
  readonly local: string | undefined;
  readonly port: number;
  readonly mtu: number;
  readonly bridge: string | undefined;
  readonly isUp: boolean;
  readonly suppressesNeighbours: boolean;
  /** Peers that get broadcasts and packets for unknown addresses. */
  readonly peers: readonly string[];
  /** Static entries: accepted from one peer only. */
  readonly fixed: readonly RemoteEntry[];
  /** Entries that the kernel has learned. */
  readonly learned: readonly RemoteEntry[];
}

/** An interface of others. */
export interface Device {
  readonly name: string;
  /** In bytes. */
  readonly mtu: number;
  readonly addresses: readonly { readonly address: string; readonly prefixLength: number }[];
}

/** The operator's interfaces on a node, by name, and all others. */
export interface NodeLinks {
  readonly bridges: ReadonlyMap<string, BridgeLink>;
  readonly tunnels: ReadonlyMap<string, TunnelLink>;
  /** The bridges into which pods are plugged. */
  readonly plugged: ReadonlySet<string>;
  readonly devices: readonly Device[];
}

const OUR_BRIDGE = /^nw-[0-9a-f]{12}$/;
const OUR_TUNNEL = /^nx-[0-9a-f]{12}$/;
/** The forwarding entry for broadcasts and unknown addresses. */
export const ALL_PEERS = '00:00:00:00:00:00';

export function isOurs(name: string): boolean {
  return OUR_BRIDGE.test(name) || OUR_TUNNEL.test(name);
}

export function tunnelName(bridge: string): string {
  return bridge.replace(/^nw-/, 'nx-');
}

function bridgeOfTunnel(tunnel: string): string {
  return tunnel.replace(/^nx-/, 'nw-');
}

/** The names of all bridges, also where only the tunnel exists. */
export function bridgeNames({ bridges, tunnels }: NodeLinks): ReadonlySet<string> {
  return new Set([...bridges.keys(), ...Array.from(tunnels.keys(), bridgeOfTunnel)]);
}

/** The addresses of other interfaces, as ranges of one address. */
export function addressesOf(devices: readonly Device[]): readonly ClusterRange[] {
  return devices.flatMap(({ name, addresses }) =>
    addresses.flatMap(({ address }) => {
      const range = readRange(address);
      return range ? [{ range, of: `interface ${name} on this node` }] : [];
    }),
  );
}

type Remotes = Pick<TunnelLink, 'peers' | 'fixed' | 'learned'>;
const NO_REMOTES: Remotes = { peers: [], fixed: [], learned: [] };
const REMOTE_ENTRY = /^(\S+) dev (\S+) dst (\S+)(.*)$/gm;

/** The forwarding entries of tunnels, by their names: what `bridge fdb show` prints. */
function remotesIn(output: string): ReadonlyMap<string, Remotes> {
  const found = new Map<string, { peers: string[]; fixed: RemoteEntry[]; learned: RemoteEntry[] }>();
  for (const [, mac = '', name = '', peer = '', rest] of output.matchAll(REMOTE_ENTRY)) {
    const entries = found.get(name) ?? { peers: [], fixed: [], learned: [] };
    found.set(name, entries);
    if (mac === ALL_PEERS) entries.peers.push(peer);
    else entries[rest?.includes(' static') ? 'fixed' : 'learned'].push({ mac, peer });
  }
  return found;
}

/**
 * Reads what `ip -json -details address show` and `bridge fdb show` of iproute2 print.
 * @throws SyntaxError if the first is not JSON.
 */
export function parseLinks(addresses: string, forwarding: string): NodeLinks {
  const remotes = remotesIn(forwarding);
  const links = entries(addresses).map((link) => ({ link, name: String(link.ifname) }));
  const others = links.filter(({ name }) => !OUR_TUNNEL.test(name)).map(({ link }) => String(link.master));
  const bridges = links.filter(({ name }) => OUR_BRIDGE.test(name));
  const tunnels = links.filter(({ name }) => OUR_TUNNEL.test(name));
  return {
    plugged: new Set(others.filter((master) => OUR_BRIDGE.test(master))),
    devices: links.filter(({ name }) => !isOurs(name)).map(({ name, link }) => deviceOf(name, link)),
    bridges: new Map(bridges.map(({ name, link }) => [name, bridgeOf(link)])),
    tunnels: new Map(
      tunnels.map(({ name, link }) => [name, { ...tunnelOf(link), ...(remotes.get(name) ?? NO_REMOTES) }]),
    ),
  };
}

function deviceOf(name: string, link: JsonObject): Device {
  const addresses = globalAddresses(link).map(({ local, prefixlen }) => ({
    address: String(local),
    prefixLength: Number(prefixlen),
  }));
  return { name, mtu: Number(link.mtu), addresses };
}

function bridgeOf(link: JsonObject): BridgeLink {
  const addresses = globalAddresses(link).map(({ local, prefixlen }) => `${local}/${prefixlen}`);
  return { mac: String(link.address), isUp: isUp(link), addresses };
}

/** iproute2 prints empty objects for entries that it skips. */
function globalAddresses(link: JsonObject): readonly JsonObject[] {
  return ownObjects(link, 'addr_info').filter(({ scope, local }) => scope !== 'link' && local !== undefined);
}

function tunnelOf(link: JsonObject): Omit<TunnelLink, keyof Remotes> {
  const info = own(link, 'linkinfo');
  const data = own(info, 'info_data');
  return {
    vni: Number(own(data, 'id')),
    local: ownString(data, 'local') ?? ownString(data, 'local6'),
    port: Number(own(data, 'port')),
    mtu: Number(link.mtu),
    bridge: ownString(link, 'master'),
    isUp: isUp(link),
    suppressesNeighbours: own(own(info, 'info_slave_data'), 'neigh_suppress') === true,
  };
}

function isUp({ flags }: JsonObject): boolean {
  return isArray(flags) && flags.includes('UP');
}

/** Parses the JSON of iproute2. @throws SyntaxError if it is not JSON. */
export function entries(output: string): readonly JsonObject[] {
  const list: JsonValue = JSON.parse(output || '[]');
  return isArray(list) ? list.filter(isObject) : [];
}
