/** How much text of JSON is known at a time, in UTF-16 units. Lists are sorted, so equal values come soon after each other. */
const MOST = 2 ** 20;

/**
 * Gives one copy of equal JSON values: what many cached objects have in common, such as a namespace, takes memory once.
 * Callers never change a value.
 */
export class SharedValues {
  readonly #known = new Map<string, unknown>();
  #length = 0;

  /** The same value, or an equal one that came before. */
  of<T>(value: T): T {
    const text = JSON.stringify(value);
    const known = this.#known.get(text);
    // Equal texts are of equal values.
    if (known !== undefined) return known as T;
    if (this.#length + text.length > MOST) {
      this.#known.clear();
      this.#length = 0;
    }
    this.#known.set(text, value);
    this.#length += text.length;
    return value;
  }

  /** An equal value. Each text, list and object in it may be one that came before. */
  within<T>(value: T): T {
    if (typeof value === 'string') return this.of(value);
    if (typeof value !== 'object' || value === null) return value;
    const copy = Array.isArray(value)
      ? value.map((each) => this.within(each))
      : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.within(each)]));
    return this.of(copy as T);
  }
}
