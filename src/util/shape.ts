import { isArray, isRecord } from './json.ts';

/**
 * What a value looks like, for outside data. A key with `?` at its end may be missing, and `*` stands for all keys; an array
 * has the shape of its items.
 * Kinds of texts, such as `'Exact|Prefix'`, are told apart in the type alone.
 */
export type Shape = string | readonly [Shape] | { readonly [key: string]: Shape };

/** The type of what fits a shape. */
export type Fitting<S> = S extends 'string'
  ? string
  : S extends 'number'
    ? number
    : S extends 'boolean'
      ? boolean
      : S extends `${infer Kind}|${infer Others}`
        ? Kind | Fitting<Others>
        : S extends string
          ? S
          : S extends readonly [infer Item]
            ? readonly Fitting<Item>[]
            : S extends { readonly '*': infer Value }
              ? Readonly<Record<string, Fitting<Value>>>
              : { readonly [K in keyof S as K extends `${string}?` ? never : K]: Fitting<S[K]> } & {
                  readonly [K in keyof S as K extends `${infer Name}?` ? Name : never]?: Fitting<S[K]>;
                };

/**
 * Where a value is of another shape, as in `spec.rules[0].matches: expected an array`; undefined if it is nowhere. Keys that
 * the shape does not have are not looked at.
 */
export function misfit(value: unknown, shape: Shape, path: string): string | undefined {
  if (typeof shape === 'string') {
    const type = shape.includes('|') ? 'string' : shape;
    return typeof value === type ? undefined : `${path}: expected a ${type}`;
  }
  if (isArray(shape)) {
    if (!isArray(value)) return `${path}: expected an array`;
    const [item] = shape;
    return firstOf(value, (each, index) => misfit(each, item, `${path}[${index}]`));
  }
  if (!isRecord(value)) return `${path}: expected an object`;
  const fields = shape as { readonly [key: string]: Shape };
  const { '*': each } = fields;
  if (each) return firstOf(Object.keys(value), (key) => misfit(value[key], each, `${path}.${key}`));
  return firstOf(Object.keys(fields), (key) => {
    const name = key.replace(/\?$/, '');
    const inner: unknown = value[name];
    if (inner === undefined && name !== key) return undefined;
    return misfit(inner, fields[key] ?? '', `${path}.${name}`);
  });
}

function firstOf<T>(
  items: readonly T[],
  find: (item: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
