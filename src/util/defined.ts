type Missing<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** An object without the keys whose value is undefined. */
export function defined<T extends object>(
  object: T,
): Omit<T, Missing<T>> & { readonly [K in Missing<T>]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as ReturnType<typeof defined<T>>;
}
