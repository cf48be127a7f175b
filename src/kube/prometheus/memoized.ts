/** Calls `make` once for each argument and remembers its result. For a small number of arguments. */
export function memoized<K, V>(make: (argument: K) => V): (argument: K) => V {
  const made = new Map<K, V>();
  return (argument) => {
    const known = made.get(argument);
    if (known !== undefined) return known;
    const value = make(argument);
    made.set(argument, value);
    return value;
  };
}
