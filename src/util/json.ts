import { createHash } from 'node:crypto';

/**
 * JSON as received. Pods stay in this form and are never decoded into types, so that fields newer than
 * this program pass through unchanged.
 */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value that is not checked yet is an object with fields. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isArray(value: unknown): value is JsonArray {
  return Array.isArray(value);
}

/**
 * The value under the object's own key; undefined if the key is absent or the value is not an object.
 * A plain `object[key]` would find `constructor` and `__proto__` on every object.
 */
export function own(object: unknown, key: string): JsonValue | undefined {
  if (!isObject(object)) return undefined;
  const value = object[key];
  // Objects inherit functions, which JSON does not have, and `__proto__`. All else is own.
  if (typeof value !== 'function' && key !== '__proto__') return value;
  return Object.hasOwn(object, key) ? value : undefined;
}

/** The string under the object's own key; undefined if it is absent or not a string. */
export function ownString(object: unknown, key: string): string | undefined {
  const value = own(object, key);
  return typeof value === 'string' ? value : undefined;
}

/** The object under the object's own key; empty if it is absent or not an object. */
export function ownObject(object: unknown, key: string): JsonObject {
  const value = own(object, key);
  return isObject(value) ? value : {};
}

/** The list under the object's own key; empty if it is absent or not a list. */
export function ownList(object: unknown, key: string): JsonArray {
  const value = own(object, key);
  return isArray(value) ? value : [];
}

type Missing<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** An object without the keys whose value is undefined. */
export function defined<T extends object>(
  object: T,
): Omit<T, Missing<T>> & { readonly [K in Missing<T>]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as ReturnType<typeof defined<T>>;
}

/** The value at a path of own keys and indices. */
export function valueAt(
  value: JsonValue | undefined,
  path: readonly (string | number)[],
): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (inner, segment) => (isArray(inner) ? inner[Number(segment)] : own(inner, String(segment))),
    value,
  );
}

/** The objects in the list under the object's own key; empty if it is absent, null or not a list. */
export function ownObjects(object: unknown, key: string): readonly JsonObject[] {
  const value = ownList(object, key);
  // Nearly always all are objects, and a copy would cost more than this check.
  return value.every(isObject) ? value : value.filter(isObject);
}

/** The strings in the list under the object's own key; empty if it is absent, null or not a list. */
export function ownTexts(object: unknown, key: string): readonly string[] {
  return ownList(object, key).filter((item) => typeof item === 'string');
}

/** The members of an object that are strings; empty for any other value. */
export function stringsIn(value: unknown): Readonly<Record<string, string>> {
  const members = Object.entries(isObject(value) ? value : {});
  return Object.fromEntries(
    members.filter((member): member is [string, string] => typeof member[1] === 'string'),
  );
}

/** What a text says as JSON; undefined if it is none. */
export function tryJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether two values are equal as JSON. The order of keys does not matter. */
export function sameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (isArray(a)) {
    return isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i] as JsonValue));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as JsonValue, b[key] as JsonValue))
  );
}

/** The JSON text of a value with sorted keys, for hashes: equal values have equal text. */
export function canonicalJson(value: JsonValue): string {
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
  return `{${members.join(',')}}`;
}

/** sha256 in hex of a value: equal values have equal hashes. */
export function hashOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Freezes a value with everything in it, and returns it. */
export function deepFreeze<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** The value without the null fields of its objects: Kubernetes treats them as absent. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}
