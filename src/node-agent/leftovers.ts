import type { ObjectKey } from '../kube/api/object.ts';
import { bridgeName } from '../network/providers/multus/cni-config.ts';

/** What a node has of networks, whether these are still there or not. */
export interface NodeState {
  /** The bridges of our names, also where only the tunnel is left, and how many pods are plugged into each. */
  readonly bridges: readonly { readonly name: string; readonly ports: number }[];
  /** The CNI networks, `namespace.name`, of which host-local keeps addresses. */
  readonly networks: readonly string[];
}

/** A bridge that nobody needs any more, and the CNI networks that it was for. */
export interface Leftover {
  readonly bridge: string;
  readonly networks: readonly string[];
}

/**
 * What is left of networks that are gone: bridges with nothing plugged in, of none of the Networks that are needed. A bridge's name cannot be read backwards, so what else there is is found by its own name.
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
 * The input of `iptables-restore --noflush` that takes the rules of these CNI networks out of the table nat, given the
 * output of `iptables-save -t nat`; undefined where there are none. The plugin bridge names the network in a comment of
 * the rule that leads to a chain of the container.
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
