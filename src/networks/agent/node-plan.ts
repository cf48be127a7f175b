import { largestMtu, type Underlay } from '../nodes/node-report.ts';
import { overlaps, type Range, readRange } from '../ranges/cidr.ts';
import type { ClusterRange } from '../ranges/cluster-ranges.ts';
import { hasGateways, joinStep, type Mesh, removeStep, type Step } from './bridge-plan.ts';
import type { NodeNetwork } from './desired.ts';
import { addressesOf, bridgeNames, type NodeLinks, tunnelName } from './links.ts';
import { type Rules, rulesOf } from './nftables.ts';
import { conflictFinder } from './routes.ts';

export interface NodePlanInput {
  /** The Networks whose status can be read. */
  readonly networks: readonly NodeNetwork[];
  readonly links: NodeLinks;
  /** Ranges of the node's routes. */
  readonly routes: readonly ClusterRange[];
  readonly underlay: Underlay;
  readonly port: number;
  /** Bridges without pods that no Network needs here. */
  readonly unneeded: ReadonlySet<string>;
  /** Those of them that have been unused for long enough. */
  readonly due: ReadonlySet<string>;
}

export interface Forwards {
  readonly ipv4: boolean;
  /** The devices whose packets of IPv6 are forwarded. */
  readonly ipv6: readonly string[];
}

/** What a node lacks. */
export interface NodePlan {
  readonly rules: Rules;
  readonly remove: readonly Step[];
  readonly join: readonly Step[];
  readonly forwards: Forwards;
  /** The Networks that are not made on this node, and why, by bridge. */
  readonly refused: ReadonlyMap<string, string>;
  /** What is wrong with other Networks of this node, by bridge. */
  readonly warnings: ReadonlyMap<string, string>;
}

/**
 * Compares the Networks with the node. Bridges of Networks that are not here any more are kept joined until they are
 * due, and those that nothing is known of are kept as they are.
 */
export function nodePlan(input: NodePlanInput): NodePlan {
  const { networks, links, underlay, port, unneeded, due } = input;
  const here = networks.filter(({ isHere }) => isHere);
  // A route of the old bridge would take the packets for the new one.
  const inTheWay = [...unneeded].filter((bridge) =>
    rangesOf(bridge, links).some((old) =>
      here.some(
        ({ bridge: other, ranges }) => other !== bridge && ranges.some(({ range }) => overlaps(range, old)),
      ),
    ),
  );
  const removed = new Set([...due, ...inTheWay]);
  const staying = [...bridgeNames(links)].filter((bridge) => !removed.has(bridge));
  const live = networks.filter(({ bridge, isHere }) => isHere || staying.includes(bridge));
  const known = new Set(live.map(({ bridge }) => bridge));
  const unknown = staying.filter((bridge) => !known.has(bridge));
  const conflictOf = conflictFinder([
    ...input.routes,
    ...addressesOf(links.devices),
    ...unknown.flatMap((bridge) =>
      rangesOf(bridge, links).map((range) => ({
        range,
        of: `bridge ${bridge} of another Network on this node`,
      })),
    ),
  ]);

  const refused = new Map<string, string>();
  const warnings = new Map<string, string>();
  const made: { readonly network: NodeNetwork; readonly mesh: Mesh }[] = [];
  for (const network of live) {
    const { bridge } = network;
    const conflict = conflictOf(network);
    if (conflict !== undefined && !hasGateways(network, links)) {
      refused.set(bridge, `${conflict}, so this Network is left out`);
      continue;
    }
    const { mesh, problem } = meshOf(network, underlay, port);
    made.push({ network, mesh });
    const warning = conflict ?? problem;
    if (warning !== undefined) warnings.set(bridge, warning);
  }

  const joined = new Set(made.map(({ network }) => network.bridge));
  const kept = staying.filter((bridge) => !joined.has(bridge));
  const keptTunnels = kept.flatMap((bridge) => links.tunnels.get(tunnelName(bridge)) ?? []);
  const bridges = [
    ...made.map(({ network: { bridge, ranges } }) => ({
      name: bridge,
      ranges: ranges.map(({ range }) => range),
    })),
    ...kept.map((name) => ({ name, ranges: rangesOf(name, links) })),
  ];
  const having = (kind: 'ipv4' | 'ipv6') =>
    bridges
      .filter(({ ranges }) => ranges.some(({ address }) => address.kind() === kind))
      .map(({ name }) => name);
  return {
    rules: rulesOf({
      bridges,
      port,
      vnis: [...made.map(({ network }) => network.vni), ...keptTunnels.map(({ vni }) => vni)],
      peers: [...made.flatMap(({ mesh }) => mesh.peers), ...keptTunnels.flatMap(({ peers }) => peers)],
    }),
    remove: [...removed].map((bridge) => removeStep(bridge, links)),
    join: made.map(({ network, mesh }) => joinStep(network, mesh, links)),
    forwards: { ipv4: having('ipv4').length > 0, ipv6: forwardersOf(having('ipv6'), links) },
    refused,
    warnings,
  };
}

function meshOf(
  { others, mtu }: NodeNetwork,
  underlay: Underlay,
  port: number,
): { readonly mesh: Mesh; readonly problem: string | undefined } {
  const { address: local } = underlay;
  const isReached = ({ address }: { readonly address: string }) =>
    address.includes(':') === local.includes(':');
  // A node that got a new name has its address under both names. By its own, it would hear itself, and lose its pods.
  const peers = others
    .filter(isReached)
    .map(({ address }) => address)
    .filter((address) => address !== local);
  const largest = largestMtu(underlay);
  const unreached = others.find((other) => !isReached(other));
  return {
    mesh: { local, port, peers, mtu: mtu ?? largest },
    problem: unreached
      ? `node ${unreached.name} and ${local} share no IP family`
      : mtu !== undefined && mtu > largest
        ? `the Network's MTU of ${mtu} exceeds this node's maximum of ${largest}`
        : undefined,
  };
}

function rangesOf(bridge: string, { bridges }: NodeLinks): readonly Range[] {
  const addresses = bridges.get(bridge)?.addresses ?? [];
  return addresses.flatMap((address) => readRange(address) ?? []);
}

/** The bridges, and the devices by which answers come back to the node for their pods. */
function forwardersOf(bridges: readonly string[], { devices }: NodeLinks): readonly string[] {
  if (bridges.length === 0) return [];
  // Those with an address of IPv6 to which packets from other hosts may come.
  const others = devices.filter(({ addresses }) =>
    addresses.some(({ address }) => address.includes(':') && address !== '::1'),
  );
  return [...bridges, ...others.map(({ name }) => name)];
}
