import { join } from 'node:path';
import { keyOf, type ObjectKey } from '../kube/api/object.ts';
import type { Network } from '../network/api/types.ts';
import { isThere } from './replace-file.ts';

export interface OvnNodeOptions {
  /** The name of the node. */
  readonly node: string;
  /** Where the node's container runtime looks for plugins. */
  readonly plugins: string;
  /** A directory with an entry for each interface of the node's network: `/proc/sys/net/ipv4/conf`. */
  readonly interfaces: string;
}

/**
 * Why Networks of provider neutron with pods on this node do not work on it, by their keys. ovn-controller makes the
 * bridge br-int when it starts.
 */
export async function ovnProblems(
  networks: readonly Network[],
  { node, plugins, interfaces }: OvnNodeOptions,
): Promise<Readonly<Record<ObjectKey, string>>> {
  const here = networks.filter(
    ({ status }) => status?.provider === 'neutron' && status.nodes?.some(({ name }) => name === node),
  );
  if (here.length === 0) return {};
  const lacks = [
    ...((await isThere(join(plugins, 'ovs'))) ? [] : ['no CNI plugin ovs: install ovs-cni']),
    ...((await isThere(join(interfaces, 'br-int'))) ? [] : ['no bridge br-int: start ovn-controller']),
  ];
  if (lacks.length === 0) return {};
  return Object.fromEntries(here.map((network) => [keyOf(network), `it has ${lacks.join(', and ')}`]));
}
