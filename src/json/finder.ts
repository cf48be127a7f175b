/** Up to this length, a look through the list costs less than an index of it. */
const SHORT = 16;

/**
 * Finds the first item of a key. A long list is looked through once, however many keys are looked for; the list must stay
 * as it is meanwhile.
 */
export function finder<T>(
  list: readonly T[],
  keyOf: (item: T) => string | undefined,
): (key: string | undefined) => T | undefined {
  if (list.length <= SHORT) return (key) => list.find((item) => keyOf(item) === key);
  let index: Map<string | undefined, T> | undefined;
  return (key) => {
    // A map keeps the last item of a key.
    index ??= new Map(list.toReversed().map((item) => [keyOf(item), item]));
    return index.get(key);
  };
}
