/** Several values for each key. Most keys have one value, which is held without a set of its own. No value may be a Set. */
export class MultiMap<K, V> {
  readonly #values = new Map<K, V | Set<V>>();

  add(key: K, value: V): void {
    const known = this.#values.get(key);
    if (known instanceof Set) known.add(value);
    else if (known === undefined) this.#values.set(key, value);
    else if (known !== value) this.#values.set(key, new Set([known, value]));
  }

  delete(key: K, value: V): void {
    const known = this.#values.get(key);
    if (!(known instanceof Set)) {
      if (known === value) this.#values.delete(key);
      return;
    }
    known.delete(value);
    if (known.size === 1) for (const last of known) this.#values.set(key, last);
  }

  has(key: K): boolean {
    return this.#values.has(key);
  }

  /** The values of the key, in the order in which they came. */
  get(key: K): Iterable<V> {
    const known = this.#values.get(key);
    if (known === undefined) return [];
    return known instanceof Set ? known : [known];
  }
}
