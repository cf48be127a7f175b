/** First in, first out, in amortised constant time: `Array.shift` moves all other items, at 100,000 keys too. */
export class Fifo<T> {
  #in: T[] = [];
  /** The oldest last. */
  #out: T[] = [];

  get length(): number {
    return this.#in.length + this.#out.length;
  }

  push(item: T): void {
    this.#in.push(item);
  }

  /** Removes and returns the oldest item; undefined when empty. */
  shift(): T | undefined {
    if (this.#out.length === 0) [this.#in, this.#out] = [this.#out, this.#in.reverse()];
    return this.#out.pop();
  }
}
