/** A map of bounded size: when it is full, a new key replaces the least recently used one. */
export class LruMap<K, V> {
  readonly #maxSize: number;
  /** Least recently used first. */
  readonly #entries = new Map<K, V>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#touch(key, value);
    return value;
  }

  /** Returns the value that was dropped, if any. */
  set(key: K, value: V): V | undefined {
    this.#touch(key, value);
    if (this.#entries.size <= this.#maxSize) return undefined;
    for (const [oldest, dropped] of this.#entries) {
      this.#entries.delete(oldest);
      return dropped;
    }
    return undefined;
  }

  entries(): Iterable<readonly [K, V]> {
    return this.#entries;
  }

  #touch(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}
