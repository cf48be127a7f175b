import type { Finding, Findings } from './fault.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own, ownString } from './json.ts';
import { isDnsLabel } from './names.ts';
import type { Path } from './path.ts';

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

/** A finding for each item whose key an earlier one has too. */
export function* duplicates(
  list: Iterable<readonly [JsonObject, Path]>,
  keyOf: (item: JsonObject) => string | undefined,
  field: string,
): Findings {
  const seen = new Map<string, Path>();
  for (const [item, path] of list) {
    const key = keyOf(item);
    if (key === undefined) continue;
    if (seen.has(key)) yield { path: [...path, field], message: `${key} is there twice: keep one` };
    else seen.set(key, path);
  }
}

/** A finding unless exactly one of the fields is there. */
export function* exactlyOne(
  object: JsonObject,
  fields: readonly string[],
  path: Path,
  what: string,
): Findings {
  const given = fields.filter((field) => isSet(object, field));
  if (given.length === 1) return;
  const found = given.length === 0 ? 'there is none' : `there are ${given.join(' and ')}`;
  yield { path, message: `needs exactly one ${what}, and ${found}` };
}

export function dnsLabel(object: JsonObject, path: Path): Finding[] {
  const name = ownString(object, 'name') ?? '';
  if (isDnsLabel(name)) return [];
  const message = 'must be at most 63 lower-case letters, digits and hyphens, such as my-sidecar';
  return [{ path: [...path, 'name'], message }];
}

/** A finding when a number is there and out of range. */
export function* range(object: JsonObject, field: string, path: Path, min: number, max: number): Findings {
  const value = own(object, field);
  if (typeof value === 'number' && (value < min || value > max)) {
    yield { path: [...path, field], message: `must be from ${min} to ${max}, not ${value}` };
  }
}

/** A finding when a string is there and fails a test. */
export function* matching(
  object: JsonObject,
  field: string,
  path: Path,
  test: (value: string) => boolean,
  message: string,
): Findings {
  const value = ownString(object, field);
  if (value !== undefined && !test(value)) yield { path: [...path, field], message };
}

export function isSet(object: JsonObject, field: string): boolean {
  const value = own(object, field);
  return value !== undefined && value !== null;
}
