import type { Findings } from '../../../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../util/json.ts';
import type { Path } from '../../../util/path.ts';

/** The items of a list that a template or one of its objects has, with the path of each. */
export function* items(
  object: JsonValue | undefined,
  key: string,
  path: Path,
): Generator<readonly [JsonObject, Path]> {
  const list = own(object, key);
  if (!isArray(list)) return;
  for (const [index, item] of list.entries()) if (isObject(item)) yield [item, [...path, key, index]];
}

/** A finding for each item with the key of an earlier item. */
export function* duplicates(
  list: Iterable<readonly [JsonObject, Path]>,
  keyOf: (item: JsonObject) => string | undefined,
  field: string,
): Findings {
  const seen = new Map<string, Path>();
  for (const [item, path] of list) {
    const key = keyOf(item);
    if (key === undefined) continue;
    if (seen.has(key)) yield { path: [...path, field], message: `${key} appears twice: keep one` };
    else seen.set(key, path);
  }
}

/** A finding unless exactly one of the fields is set, or none if it is optional. */
export function* exactlyOne(
  object: JsonObject,
  fields: readonly string[],
  path: Path,
  what: string,
  isOptional = false,
): Findings {
  const given = fields.filter((field) => isSet(object, field));
  if (given.length === 1 || (isOptional && given.length === 0)) return;
  const found = given.length === 0 ? 'none' : given.join(' and ');
  yield { path, message: `expected exactly one ${what}, got ${found}` };
}

export function isSet(object: JsonObject, field: string): boolean {
  const value = own(object, field);
  return value !== undefined && value !== null;
}
