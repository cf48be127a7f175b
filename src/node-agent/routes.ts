import { formatRange, readRange } from '../network/ipam/cidr.ts';
import { type ClusterRange, overlapText } from '../network/ipam/cluster-ranges.ts';
import { RangeTree } from '../network/ipam/range-tree.ts';
import type { MeshNetwork } from '../network/providers/multus/cni-config.ts';
import { entries, isOurs, type Json } from './links.ts';

/** A VPN may write a default route as its two halves. */
const LONGEST_DEFAULT = 1;

/**
 * Reads the output of `ip -json route show`, without default routes and the operator's own.
 * @throws SyntaxError if it is not JSON.
 */
export function parseRoutes(output: string): readonly ClusterRange[] {
  return entries(output).flatMap(({ dst, dev }: Json) => {
    const range = readRange(String(dst));
    if (!range || range.prefixLength <= LONGEST_DEFAULT || isOurs(String(dev))) return [];
    return [{ range, of: dev === undefined ? 'a route of this node' : `a route of this node by ${dev}` }];
  });
}

/** Which Networks overlap a range of the node, and how, as sentences by the Networks' keys. */
export function conflictsOf(
  networks: readonly MeshNetwork[],
  ranges: readonly ClusterRange[],
): ReadonlyMap<string, string> {
  const tree = new RangeTree<ClusterRange>();
  for (const one of ranges) tree.add(one.range, one);
  return new Map(
    networks.flatMap(({ key, range }) => {
      const [met] = tree.overlapping(range);
      return met ? [[key, `${key}: ${overlapText(formatRange(range), met)}`] as const] : [];
    }),
  );
}
