/** How much text of JSON is known at a time, in UTF-16 units: in the newer half, and in the older one. */
const HALF = 2 ** 19;

/**
 * The longest text of a value that is taken apart, in UTF-16 units. It takes ten times as long as to parse it, and users
 * can write megabytes of finalizers.
 */
const MOST_IN_PARTS = 2 ** 12;

/**
 * Gives one copy of equal JSON values: what many cached objects have in common, such as a namespace, takes memory once.
 * It forgets what was not asked for lately, so values that no object has any more are freed. Callers never change a
 * value.
 */
export class SharedValues {
  /** By its JSON. */
  #newer = new Map<string, unknown>();
  #older: ReadonlyMap<string, unknown> = new Map();
  /** Of the texts in `#newer`. */
  #length = 0;

  /** The same value, or an equal one that came before. */
  of<T extends NonNullable<unknown>>(value: T): T {
    const text = JSON.stringify(value);
    // Equal texts are of equal values.
    const known = this.#newer.get(text) as T | undefined;
    if (known !== undefined) return known;
    const shared = (this.#older.get(text) as T | undefined) ?? value;
    // It would take the place of all others.
    if (text.length > HALF) return shared;
    if (this.#length + text.length > HALF) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#length = 0;
    }
    this.#newer.set(text, shared);
    this.#length += text.length;
    return shared;
  }

  /** An equal value. Unless it is long, each text, list and object in it may be one that came before. */
  within<T>(value: T): T {
    const isLong = JSON.stringify(value).length > MOST_IN_PARTS;
    return isLong ? this.of(value as T & object) : this.#within(value);
  }

  #within<T>(value: T): T {
    if (typeof value === 'string') return this.of(value);
    if (typeof value !== 'object' || value === null) return value;
    const copy = Array.isArray(value)
      ? value.map((each) => this.#within(each))
      : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#within(each)]));
    return this.of(copy as T & object);
  }
}
