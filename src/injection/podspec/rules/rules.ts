import type { Path } from '../../../util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../util/json.ts';

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

/** Whether the object has the field, and not null. */
export function isSet(object: JsonObject, field: string): boolean {
  return (own(object, field) ?? null) !== null;
}
