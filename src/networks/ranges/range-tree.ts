import { MultiMap } from '../../kube/util/multi-map.ts';
import type { Range } from './cidr.ts';

/**
 * Finds values by overlapping range. Ranges overlap only if one contains the other: then its prefix, as bits, begins
 * that of the other. With thousands of ranges, a look-up takes a few dozen steps.
 */
export class RangeTree<V> {
  readonly #values = new MultiMap<string, V>();
  /** Those that have values, in order: what begins with a prefix comes after it. */
  readonly #prefixes: string[] = [];

  add(range: Range, value: V): void {
    const prefix = prefixOf(range);
    if (!this.#values.has(prefix)) this.#prefixes.splice(this.#placeOf(prefix), 0, prefix);
    this.#values.add(prefix, value);
  }

  delete(range: Range, value: V): void {
    const prefix = prefixOf(range);
    if (!this.#values.has(prefix)) return;
    this.#values.delete(prefix, value);
    if (!this.#values.has(prefix)) this.#prefixes.splice(this.#placeOf(prefix), 1);
  }

  /** Each value whose range overlaps this one, wider ranges first. */
  *overlapping(range: Range): Generator<V> {
    const prefix = prefixOf(range);
    for (let length = 1; length < prefix.length; length++) yield* this.#values.get(prefix.slice(0, length));
    for (let place = this.#placeOf(prefix); ; place++) {
      const inside = this.#prefixes[place];
      if (!inside?.startsWith(prefix)) return;
      yield* this.#values.get(inside);
    }
  }

  /** Where the prefix is among all, or would be. */
  #placeOf(prefix: string): number {
    let [from, to] = [0, this.#prefixes.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if ((this.#prefixes[middle] ?? '') < prefix) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** The family, and the bits of the prefix, most significant first. */
function prefixOf({ address, prefixLength }: Range): string {
  const bits = address.toByteArray().map((byte) => byte.toString(2).padStart(8, '0'));
  return `${address.kind() === 'ipv4' ? 4 : 6}${bits.join('').slice(0, prefixLength)}`;
}
