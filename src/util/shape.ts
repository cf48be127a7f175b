import { isArray, isRecord } from './json.ts';

/**
 * What a value of a type looks like, for outside data of that type: the compiler holds it complete. A key with `?` at its end
 * may be missing; an array has the shape of its items. Kinds of texts, such as `'Exact' | 'Prefix'`, are not told apart.
 */
export type Shape<T> = T extends string
  ? 'string'
  : T extends number
    ? 'number'
    : T extends boolean
      ? 'boolean'
      : T extends readonly (infer Item)[]
        ? readonly [Shape<Item>]
        : {
            readonly [K in keyof T & string as undefined extends T[K] ? `${K}?` : K]-?: Shape<
              NonNullable<T[K]>
            >;
          };

type AnyShape = string | readonly [AnyShape] | { readonly [key: string]: AnyShape };

/**
 * Where a value is of another shape, as in `spec.rules[0].matches: expected an array`; undefined if it is nowhere. Keys that
 * the shape does not have are not looked at.
 */
export function misfit(value: unknown, shape: AnyShape, path: string): string | undefined {
  if (typeof shape === 'string') return typeof value === shape ? undefined : `${path}: expected a ${shape}`;
  if (isArray(shape)) {
    if (!isArray(value)) return `${path}: expected an array`;
    const [item] = shape;
    return firstOf(value, (each, index) => misfit(each, item, `${path}[${index}]`));
  }
  if (!isRecord(value)) return `${path}: expected an object`;
  return firstOf(Object.keys(shape), (key) => {
    const name = key.replace(/\?$/, '');
    const inner: unknown = value[name];
    if (inner === undefined && name !== key) return undefined;
    return misfit(inner, (shape as { readonly [key: string]: AnyShape })[key] ?? '', `${path}.${name}`);
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
