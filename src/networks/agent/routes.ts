import { bitsOf, formatRange, type Range, readRange } from '../ipam/cidr.ts';
import { type ClusterRange, overlapText } from '../ipam/cluster-ranges.ts';
import { RangeTree } from '../ipam/range-tree.ts';
import { LONGEST_DEFAULT, MAX_REPORTED_RANGES } from '../nodes/node-report.ts';
import type { NodeNetwork } from './desired.ts';
import { type Device, entries, isOurs, type Json } from './links.ts';

/** Every node has these. */
const EVERYWHERE = ['linkLocal', 'loopback', 'multicast', 'unspecified', 'broadcast'];

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

/** Finds the range of the node that a Network overlaps, as a sentence; undefined if there is none. */
export function conflictFinder(
  ranges: readonly ClusterRange[],
): (network: Pick<NodeNetwork, 'ranges'>) => string | undefined {
  const tree = new RangeTree<ClusterRange>();
  for (const one of ranges) tree.add(one.range, one);
  return ({ ranges: own }) => {
    for (const { range } of own) {
      const [met] = tree.overlapping(range);
      if (met) return overlapText(formatRange(range), met);
    }
    return undefined;
  };
}

/**
 * The ranges of the report, without those inside others. Single addresses are left out: a node can have one for each
 * pod or Service, and each would be a write. If there are too many, the smallest ranges are left out.
 */
export function reportedRanges(
  routes: readonly ClusterRange[],
  devices: readonly Device[],
): readonly string[] {
  const links = devices.flatMap(({ addresses }) =>
    addresses.flatMap(({ address, prefixLength }) => readRange(`${address}/${prefixLength}`) ?? []),
  );
  const widest = [...routes.map(({ range }) => range), ...links]
    .filter(
      ({ address, prefixLength }) =>
        prefixLength > LONGEST_DEFAULT &&
        prefixLength < bitsOf(address) &&
        !EVERYWHERE.includes(address.range()),
    )
    .toSorted((a, b) => a.prefixLength - b.prefixLength || compare(a, b));
  const tree = new RangeTree<Range>();
  const kept: Range[] = [];
  for (const range of widest) {
    if (kept.length === MAX_REPORTED_RANGES) break;
    // All that overlap are as wide or wider.
    if (!tree.overlapping(range).next().done) continue;
    tree.add(range, range);
    kept.push(range);
  }
  return kept.map(formatRange).toSorted();
}

function compare(a: Range, b: Range): number {
  return formatRange(a) < formatRange(b) ? -1 : 1;
}
