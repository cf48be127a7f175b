import type { Range } from './cidr.ts';

interface Node<V> {
  readonly values: Set<V>;
  /** For the ranges whose next bit is 0 and 1. */
  readonly children: [Node<V> | undefined, Node<V> | undefined];
}

/**
 * Finds values by overlapping range: a binary tree with one level for each bit of the prefix. Ranges overlap only if
 * one contains the other, so all matches are on the path to the range or below it. With thousands of ranges, a
 * look-up visits a few dozen nodes.
 */
export class RangeTree<V> {
  readonly #roots = { ipv4: emptyNode<V>(), ipv6: emptyNode<V>() };

  add(range: Range, value: V): void {
    let node = this.#root(range);
    for (const bit of bitsOf(range)) node = node.children[bit] ??= emptyNode();
    node.values.add(value);
  }

  delete(range: Range, value: V): void {
    const path = [this.#root(range)];
    const bits = [...bitsOf(range)];
    for (const bit of bits) {
      const next = path.at(-1)?.children[bit];
      if (!next) return;
      path.push(next);
    }
    path.at(-1)?.values.delete(value);
    for (const [depth, bit] of [...bits.entries()].reverse()) {
      const child = path[depth + 1];
      if (!child || child.values.size > 0 || child.children.some(Boolean)) return;
      const parent = path[depth];
      if (parent) parent.children[bit] = undefined;
    }
  }

  /** Each value whose range overlaps this one, wider ranges first. */
  *overlapping(range: Range): Generator<V> {
    let node: Node<V> | undefined = this.#root(range);
    for (const bit of bitsOf(range)) {
      yield* node.values;
      node = node.children[bit];
      if (!node) return;
    }
    yield* valuesBelow(node);
  }

  #root({ address }: Range): Node<V> {
    return this.#roots[address.kind()];
  }
}

function emptyNode<V>(): Node<V> {
  return { values: new Set(), children: [undefined, undefined] };
}

function* valuesBelow<V>(node: Node<V>): Generator<V> {
  yield* node.values;
  for (const child of node.children) if (child) yield* valuesBelow(child);
}

/** The bits of the prefix, most significant first. */
function* bitsOf({ address, prefixLength }: Range): Generator<0 | 1> {
  const bytes = address.toByteArray();
  for (let i = 0; i < prefixLength; i++) yield ((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1 ? 1 : 0;
}
