import { MultiMap } from '../../kube/util/multi-map.ts';
import type { Range } from './cidr.ts';

/** The children are for the ranges whose next bit is 0, and 1. Most nodes have one child and no value. */
interface Node {
  zero: Node | undefined;
  one: Node | undefined;
}

/**
 * Finds values by overlapping range: a binary tree with one level for each bit of the prefix. Ranges overlap only if
 * one contains the other, so all matches are on the path to the range or below it. With thousands of ranges, a
 * look-up visits a few dozen nodes.
 */
export class RangeTree<V> {
  readonly #roots = { ipv4: emptyNode(), ipv6: emptyNode() };
  readonly #values = new MultiMap<Node, V>();

  add(range: Range, value: V): void {
    let node = this.#root(range);
    for (const bit of bitsOf(range)) node = node[bit] ??= emptyNode();
    this.#values.add(node, value);
  }

  delete(range: Range, value: V): void {
    const path = [this.#root(range)];
    const bits = [...bitsOf(range)];
    for (const bit of bits) {
      const next = path.at(-1)?.[bit];
      if (!next) return;
      path.push(next);
    }
    const end = path.at(-1);
    if (end) this.#values.delete(end, value);
    for (const [depth, bit] of [...bits.entries()].reverse()) {
      const child = path[depth + 1];
      if (!child || child.zero || child.one || this.#values.has(child)) return;
      const parent = path[depth];
      if (parent) parent[bit] = undefined;
    }
  }

  /** Each value whose range overlaps this one, wider ranges first. */
  *overlapping(range: Range): Generator<V> {
    let node: Node | undefined = this.#root(range);
    for (const bit of bitsOf(range)) {
      yield* this.#values.get(node);
      node = node[bit];
      if (!node) return;
    }
    yield* this.#below(node);
  }

  *#below(node: Node): Generator<V> {
    yield* this.#values.get(node);
    for (const child of [node.zero, node.one]) if (child) yield* this.#below(child);
  }

  #root({ address }: Range): Node {
    return this.#roots[address.kind()];
  }
}

function emptyNode(): Node {
  return { zero: undefined, one: undefined };
}

/** The bits of the prefix, most significant first. */
function* bitsOf({ address, prefixLength }: Range): Generator<'zero' | 'one'> {
  const bytes = address.toByteArray();
  for (let i = 0; i < prefixLength; i++) yield ((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1 ? 'one' : 'zero';
}
