/** First in, first out, in amortised constant time: `Array.shift` moves all other items, at 100,000 keys too. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes and returns the oldest item; undefined when empty. */
  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    // Drops the reference to the item at once; removes the holes when they are half of the array.
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
