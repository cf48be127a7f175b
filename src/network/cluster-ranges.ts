import { formatRange, parseRange, type Range } from './cidr.ts';
import { RangeTree } from './range-tree.ts';

/** A range that the cluster uses for something else than Networks. */
interface ClusterRange {
  readonly range: Range;
  /** Whose it is, as a message says it: `the pods of node n1`. */
  readonly of: string;
}

/** The ranges that Networks had better not meet: of pods, of Services, and what the operator was told of. */
export class ClusterRanges {
  readonly #tree = new RangeTree<ClusterRange>();
  readonly #byOwner = new Map<string, readonly ClusterRange[]>();

  /** The owner has these ranges from now on, and no other; what is no range in canonical form is passed over. */
  set(of: string, cidrs: readonly string[]): void {
    for (const known of this.#byOwner.get(of) ?? []) this.#tree.delete(known.range, known);
    const ranges = cidrs.map(parseRange).filter((range) => range !== undefined);
    const owned = ranges.map((range) => ({ range, of }));
    for (const known of owned) this.#tree.add(known.range, known);
    if (owned.length === 0) this.#byOwner.delete(of);
    else this.#byOwner.set(of, owned);
  }

  /** What the range meets, as a sentence without a full stop; undefined for nothing. */
  warningFor(cidr: string): string | undefined {
    const range = parseRange(cidr);
    if (!range) return undefined;
    for (const met of this.#tree.overlapping(range)) {
      return `${cidr} overlaps ${formatRange(met.range)} of ${met.of}: pods on the Network cannot reach what has an address of both`;
    }
    return undefined;
  }
}
