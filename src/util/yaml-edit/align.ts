import {
  canonicalJson,
  isObject,
  type JsonArray,
  type JsonValue,
  own,
  ownString,
  sameJson,
} from '../json.ts';

/**
 * For each item of the new list, the index of the old item that it comes from: an equal one, the one with its name or,
 * without names, the next. Indices only ascend.
 */
export function align(before: JsonArray, after: JsonArray): readonly (number | undefined)[] {
  let next = 0;
  let find: ReturnType<typeof finderIn> | undefined;
  return after.map((value) => {
    const following = before[next];
    // Most changes neither add nor remove items, and then need no index.
    const isNext = following !== undefined && sameJson(following, value);
    if (!isNext) find ??= finderIn(before);
    const match = isNext ? next : find?.(value, next);
    if (match !== undefined) next = match + 1;
    return match;
  });
}

function finderIn(items: JsonArray): (value: JsonValue, from: number) => number | undefined {
  const byContent = placesOf(items.map(canonicalJson));
  const byName = placesOf(items.map(nameOf));
  return (value, from) => {
    const [name, next] = [nameOf(value), items[from]];
    if (isObject(value) && name === undefined && isObject(next) && nameOf(next) === undefined) return from;
    const namesake = name === undefined ? undefined : byName(name, from);
    const equal = byContent(canonicalJson(value), from);
    return namesake === undefined || equal === undefined ? (namesake ?? equal) : Math.min(namesake, equal);
  };
}

/** Finds the first place of a key at or after `from`, which only grows from call to call. */
function placesOf<T>(keys: readonly T[]): (key: T, from: number) => number | undefined {
  const places = new Map<T, number[]>();
  // In reverse order, `pop` removes the first place.
  for (const [index, key] of [...keys.entries()].reverse()) {
    const known = places.get(key);
    if (known) known.push(index);
    else places.set(key, [index]);
  }
  return (key, from) => {
    const known = places.get(key);
    while (known && (known.at(-1) ?? from) < from) known.pop();
    return known?.at(-1);
  };
}

/** The key by which Kubernetes identifies items of a list; kind, namespace and name for items of a List. */
function nameOf(item: JsonValue): string | undefined {
  if (!isObject(item)) return undefined;
  const name = ownString(item, 'name') ?? ownString(item, 'ip') ?? ownString(item, 'mountPath');
  const metadata = own(item, 'metadata');
  if (name !== undefined || metadata === undefined) return name;
  return JSON.stringify([own(item, 'kind'), own(metadata, 'namespace'), own(metadata, 'name')]);
}
