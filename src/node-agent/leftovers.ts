import type { ObjectKey } from '../kube/api/object.ts';
import { bridgeName } from '../network/providers/multus/cni-config.ts';

/** What a node has of networks, including deleted ones. */
export interface NodeState {
  /** The operator's bridges, also if only the tunnel exists, and how many pods are plugged into each. */
  readonly bridges: readonly { readonly name: string; readonly ports: number }[];
  /** The CNI networks, `namespace.name`, with addresses of host-local. */
  readonly networks: readonly string[];
}

/** A bridge that no Network needs, and its CNI networks. */
export interface Leftover {
  readonly bridge: string;
  readonly networks: readonly string[];
}

/**
 * Returns the leftovers of deleted networks: bridges without pods that no needed Network has. A bridge's name is a
 * hash, so its CNI networks are found by hashing their names.
 */
export function leftoversOf(
  { bridges, networks }: NodeState,
  networksNeeded: Iterable<ObjectKey>,
): readonly Leftover[] {
  const needed = new Set(Array.from(networksNeeded, bridgeName));
  const ofBridge = new Map<string, string[]>();
  for (const network of networks) {
    const bridge = bridgeName(network.replace('.', '/'));
    const others = ofBridge.get(bridge);
    if (others) others.push(network);
    else ofBridge.set(bridge, [network]);
  }
  return bridges
    .filter(({ name, ports }) => ports === 0 && !needed.has(name))
    .map(({ name: bridge }) => ({ bridge, networks: ofBridge.get(bridge) ?? [] }));
}

/**
 * Returns the input of `iptables-restore --noflush` that deletes the rules of these CNI networks from the table
 * nat, given the output of `iptables-save -t nat`; undefined if there are none. The plugin bridge names the network
 * in the comment of the rule that jumps to a container's chain.
 */
export function withoutRulesOf(networks: readonly string[], saved: string): string | undefined {
  const comments = networks.map((network) => `--comment "name: \\"${network}\\" id: `);
  const rules = saved
    .split('\n')
    .filter((line) => line.startsWith('-A ') && comments.some((comment) => line.includes(comment)));
  if (rules.length === 0) return undefined;
  const leading = rules.filter((rule) => rule.startsWith('-A POSTROUTING '));
  const chains = new Set(leading.flatMap((rule) => / -j (CNI-[0-9a-f]+)/.exec(rule)?.[1] ?? []));
  return [
    '*nat',
    ...leading.map((rule) => rule.replace('-A', '-D')),
    ...Array.from(chains, (chain) => `-F ${chain}\n-X ${chain}`),
    'COMMIT\n',
  ].join('\n');
}
