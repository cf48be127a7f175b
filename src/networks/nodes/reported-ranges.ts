import { bitsOf, formatRange, holds, overlaps, type Range, readRange } from '../ranges/cidr.ts';
import type { ClusterRanges } from '../ranges/cluster-ranges.ts';
import { LONGEST_DEFAULT } from './node-report.ts';

/** The most of a range for Networks that the report of one node takes. */
const SHARE = 1 / 2;
/** The user of ranges beyond the share of one node. */
const SEVERAL = 'a network on several nodes';

/**
 * The ranges that node agents report, as ranges of the cluster. One agent, which may have been taken over, cannot refuse
 * all Networks their ranges: beyond the share of one node, a range counts once two nodes report it, and a default route
 * never. The agent of the node itself still refuses Networks that overlap it.
 *
 * Returns what replaces the ranges of a node, and returns those beyond its share if they have changed.
 */
export function rangesOfReports(allowed: readonly Range[], ranges: Pick<ClusterRanges, 'set'>) {
  /** By node, the ranges beyond its share. */
  const known = new Map<string, readonly string[]>();
  return (node: string, texts: readonly string[]): readonly string[] => {
    const { counted, wide } = splitByShare(texts, allowed);
    ranges.set(`a network on node ${node}`, counted);
    if (`${known.get(node) ?? ''}` === `${wide}`) return [];
    if (wide.length > 0) known.set(node, wide);
    else known.delete(node);
    const all = [...known.values()].flat().toSorted();
    const several = all.filter((text, i) => all[i + 1] === text && !isDefault(text));
    ranges.set(SEVERAL, [...new Set(several)]);
    return wide;
  };
}

/**
 * Splits the ranges of a report into those that one node may take and those beyond its share of one of the allowed
 * ranges. The smallest come first: the networks of a node are small, and the routes that replace a default route are wide.
 */
export function splitByShare(
  texts: readonly string[],
  allowed: readonly Range[],
): { readonly counted: readonly string[]; readonly wide: readonly string[] } {
  const read = texts.flatMap((text) => readRange(text) ?? []);
  // One node can write a range in several ways.
  const ranges = [...new Map(read.map((range) => [formatRange(range), range])).values()].toSorted(
    (a, b) => bitsOf(a.address) - a.prefixLength - (bitsOf(b.address) - b.prefixLength),
  );
  const taken = allowed.map(() => 0);
  const counted: string[] = [];
  const wide: string[] = [];
  for (const range of ranges) {
    const after = allowed.map((one, i) => (taken[i] ?? 0) + partOf(one, range));
    if (after.some((part, i) => part > SHARE && part > (taken[i] ?? 0))) {
      wide.push(formatRange(range));
      continue;
    }
    for (const [i, part] of after.entries()) taken[i] = part;
    counted.push(formatRange(range));
  }
  return { counted, wide: wide.toSorted() };
}

function isDefault(range: string): boolean {
  return (readRange(range)?.prefixLength ?? 0) <= LONGEST_DEFAULT;
}

/** Which part of the allowed range is in the other one, from 0 to 1. */
function partOf(allowed: Range, range: Range): number {
  if (!overlaps(allowed, range)) return 0;
  return holds(range, allowed) ? 1 : 2 ** (allowed.prefixLength - range.prefixLength);
}
