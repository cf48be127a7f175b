/** Up to this length, a search through the list costs less than an index. */
const SHORT = 16;

/**
 * Returns a function that finds the first item with a key. A long list is indexed once, for all searches. The caller
 * must not change the list.
 */
export function finder<T>(
  list: readonly T[],
  keyOf: (item: T) => string | undefined,
): (key: string | undefined) => T | undefined {
  if (list.length <= SHORT) return (key) => list.find((item) => keyOf(item) === key);
  let index: Map<string | undefined, T> | undefined;
  return (key) => {
    // A map keeps the last item of a key, so reverse the list.
    index ??= new Map(list.toReversed().map((item) => [keyOf(item), item]));
    return index.get(key);
  };
}
