import { formatRange, formatShort, type Range, readRange } from './cidr.ts';
import { RangeTree } from './range-tree.ts';

/** A range that the cluster uses for something else than Networks. */
export interface ClusterRange {
  readonly range: Range;
  /** What uses it, as a message names it: `the pods of node n1`. */
  readonly of: string;
}

/** Is told the ranges that a user of ranges had, and those that it has now. */
export type OnClusterRanges = (of: string, changed: readonly Range[]) => void;

/** The ranges that Networks must not meet: of nodes, pods, Services, the API server, and of `--cluster-cidrs`. */
export class ClusterRanges {
  readonly #tree = new RangeTree<ClusterRange>();
  readonly #byUser = new Map<string, readonly ClusterRange[]>();
  readonly #handlers: OnClusterRanges[] = [];

  /** Calls the handler after each change. */
  onChange(handler: OnClusterRanges): void {
    this.#handlers.push(handler);
  }

  /** `of` has these ranges and addresses from now on, and no other. Texts that are neither are passed over. */
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

  /** What the range meets; `preferred` where it is among them, so that a message does not change without a reason. */
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
