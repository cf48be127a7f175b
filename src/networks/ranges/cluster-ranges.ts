import { formatRange, formatShort, type Range, readRange } from './cidr.ts';
import { RangeTree } from './range-tree.ts';

/** A range that the cluster uses for something other than Networks. */
export interface ClusterRange {
  readonly range: Range;
  /** The user of the range in messages: `the pods on node n1`. */
  readonly of: string;
}

/** Gets the previous and the new ranges of a user of ranges. */
export type OnClusterRanges = (of: string, changed: readonly Range[]) => void;

/** Ranges that Networks must not overlap: of nodes, pods, Services, the API server and `--cluster-cidrs`. */
export class ClusterRanges {
  readonly #tree = new RangeTree<ClusterRange>();
  readonly #byUser = new Map<string, readonly ClusterRange[]>();
  readonly #handlers: OnClusterRanges[] = [];

  onChange(handler: OnClusterRanges): void {
    this.#handlers.push(handler);
  }

  /** Replaces the ranges and addresses of `of`. Ignores other texts. */
  set(of: string, texts: readonly string[]): void {
    const before = this.#byUser.get(of) ?? [];
    const after = texts.flatMap((text) => {
      const range = readRange(text);
      return range ? [{ range, of }] : [];
    });
    if (textOf(before) === textOf(after)) return;
    for (const known of before) this.#tree.delete(known.range, known);
    for (const known of after) this.#tree.add(known.range, known);
    if (after.length === 0) this.#byUser.delete(of);
    else this.#byUser.set(of, after);
    const changed = [...before, ...after].map(({ range }) => range);
    for (const handler of this.#handlers) handler(of, changed);
  }

  /** A cluster range that overlaps the range. Prefers the one of `preferred`, so that messages stay the same. */
  met(range: Range, preferred?: string): ClusterRange | undefined {
    let first: ClusterRange | undefined;
    for (const met of this.#tree.overlapping(range)) {
      if (preferred === undefined || met.of === preferred) return met;
      first ??= met;
    }
    return first;
  }
}

/** `10.1.0.0/16 overlaps 10.1.0.7 of node n1`. */
export function overlapText(cidr: string, { range, of }: ClusterRange): string {
  return `${cidr} overlaps ${formatShort(range)} of ${of}`;
}

function textOf(ranges: readonly ClusterRange[]): string {
  return ranges.map(({ range }) => formatRange(range)).join();
}
