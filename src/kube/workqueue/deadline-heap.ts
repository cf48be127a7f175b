interface Entry<K> {
  readonly key: K;
  /** Order of first arrival: keys that are due at the same moment leave in this order. */
  readonly order: number;
  deadline: number;
  index: number;
}

/** Keys and their deadlines: a binary min-heap with one entry per key. */
export class DeadlineHeap<K> {
  /** The entry at i is due no later than the entries at 2i + 1 and 2i + 2. */
  readonly #entries: Entry<K>[] = [];
  readonly #byKey = new Map<K, Entry<K>>();
  #arrivals = 0;

  /** The earliest deadline, or undefined when the heap is empty. */
  get next(): number | undefined {
    return this.#entries[0]?.deadline;
  }

  /**
   * Sets when the key is due. A key that already waits keeps the earlier of the two deadlines.
   * @returns whether the earliest deadline has changed.
   */
  put(key: K, deadline: number): boolean {
    const known = this.#byKey.get(key);
    if (known && known.deadline <= deadline) return false;
    const entry = known ?? this.#append(key, deadline);
    entry.deadline = deadline;
    this.#rise(entry);
    return entry.index === 0;
  }

  /** Removes and returns the key with the earliest deadline, if it is due by `now`. */
  takeDue(now: number): K | undefined {
    const [first] = this.#entries;
    if (first === undefined || first.deadline > now) return undefined;
    const last = this.#entries.pop();
    this.#byKey.delete(first.key);
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#sink(last);
    }
    return first.key;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#byKey.clear();
  }

  #append(key: K, deadline: number): Entry<K> {
    const entry = { key, deadline, order: this.#arrivals++, index: this.#entries.length };
    this.#entries.push(entry);
    this.#byKey.set(key, entry);
    return entry;
  }

  #rise(entry: Entry<K>): void {
    while (entry.index > 0) {
      const parent = this.#entries[(entry.index - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #sink(entry: Entry<K>): void {
    for (;;) {
      const left = this.#entries[2 * entry.index + 1];
      const right = this.#entries[2 * entry.index + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) return;
      this.#swap(entry, child);
    }
  }

  #swap(a: Entry<K>, b: Entry<K>): void {
    const index = a.index;
    this.#place(a, b.index);
    this.#place(b, index);
  }

  #place(entry: Entry<K>, index: number): void {
    entry.index = index;
    this.#entries[index] = entry;
  }
}

function isBefore<K>(a: Entry<K>, b: Entry<K>): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.order < b.order);
}
