/** What is to be changed; undefined for nothing. */
export function differences<C extends object>(wanted: C, actual: object): Partial<C> | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => Reflect.get(actual, key) !== value);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<C>);
}
