import {
  canonicalJson,
  isObject,
  type JsonArray,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../json.ts';

/** For each item of the new list, the index of the old item that it comes from. Indices only ascend. */
export function align(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  let items: Items | undefined;
  return after.map((value) => {
    // Fast path: most changes neither add nor remove items.
    const isNext = next < before.length && before[next] === value;
    if (!isNext) items ??= new Items(before);
    const match = isNext ? next : items?.find(value, next);
    if (match !== undefined) next = match + 1;
    return match;
  });
}

/** Finds items of a list, each search from a start that never moves back. */
class Items {
  readonly #items: JsonArray;
  readonly #byIdentity: Places<JsonValue>;
  readonly #byName: Places<string | undefined>;
  #byContent: Places<string> | undefined;

  constructor(items: JsonArray) {
    this.#items = items;
    this.#byIdentity = new Places(items);
    this.#byName = new Places(items.map((item) => (isObject(item) ? nameOf(item) : undefined)));
  }

  /** The item that a value comes from: itself, an equal one, the one with its name or, without names, the next. */
  find(value: JsonValue, from: number): number | undefined {
    const same = this.#byIdentity.from(value, from);
    if (same !== undefined) return same;
    const next = this.#items[from];
    if (next !== undefined && sameJson(next, value)) return from;
    const name = isObject(value) ? nameOf(value) : undefined;
    if (isObject(value) && name === undefined && isObject(next) && nameOf(next) === undefined) return from;
    const namesake = name === undefined ? undefined : this.#byName.from(name, from);
    if (namesake === from) return namesake;
    this.#byContent ??= new Places(this.#items.map(canonicalJson));
    const equal = this.#byContent.from(canonicalJson(value), from);
    if (namesake === undefined || equal === undefined) return namesake ?? equal;
    return Math.min(namesake, equal);
  }
}

/** The places of each value in a list. */
class Places<T> {
  readonly #places = new Map<T, number[]>();

  constructor(values: readonly T[]) {
    for (const [index, value] of values.entries()) {
      const places = this.#places.get(value);
      if (places) places.push(index);
      else this.#places.set(value, [index]);
    }
    // In reverse order, `pop` removes the first place.
    for (const places of this.#places.values()) places.reverse();
  }

  /** The first place of the value at or after `from`, which only grows from call to call. */
  from(value: T, from: number): number | undefined {
    const places = this.#places.get(value);
    while (places && (places.at(-1) ?? from) < from) places.pop();
    return places?.at(-1);
  }
}

/** The key by which Kubernetes identifies items of a list; kind, namespace and name for items of a List. */
function nameOf(item: JsonValue): string | undefined {
  const name = ownString(item, 'name') ?? ownString(item, 'ip') ?? ownString(item, 'mountPath');
  if (name !== undefined) return name;
  const metadata = own(item, 'metadata');
  if (metadata === undefined) return undefined;
  return JSON.stringify(
    [own(item, 'kind'), own(metadata, 'namespace'), own(metadata, 'name')].map((part) => part ?? null),
  );
}
