/**
 * JSON as it came over the wire. Pods are worked on in this form and never decoded into types, so that a
 * field newer than this program passes through untouched.
 */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isArray(value: unknown): value is JsonArray {
  return Array.isArray(value);
}

/**
 * The value under the object's own key, or undefined when the key is absent or there is no object.
 * A plain `object[key]` would find `constructor` and `__proto__` on every object.
 */
export function own(object: JsonValue | undefined, key: string): JsonValue | undefined {
  if (!isObject(object)) return undefined;
  const value = object[key];
  // What an object inherits is functions, which JSON has none of, and its prototype.
  if (typeof value !== 'function' && key !== '__proto__') return value;
  return Object.hasOwn(object, key) ? value : undefined;
}

/** The string under the object's own key, or undefined when it is absent or no string. */
export function ownString(object: JsonValue | undefined, key: string): string | undefined {
  const value = own(object, key);
  return typeof value === 'string' ? value : undefined;
}

/** The objects in the list under the object's own key; none when it is absent, null or no list. */
export function ownObjects(object: JsonValue | undefined, key: string): readonly JsonObject[] {
  const value = own(object, key);
  if (!isArray(value)) return [];
  // As it nearly always is; a copy for each look at a pod's containers costs more than the look.
  return value.every(isObject) ? value : value.filter(isObject);
}

/** Whether two values are the same JSON, whatever the order of their keys. */
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

/** The JSON text of a value with its keys sorted: equal values have equal text, to be hashed. */
export function canonicalJson(value: JsonValue): string {
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
  return `{${members.join(',')}}`;
}

/** Freezes a value and all that it holds, and returns it. */
export function deepFreeze<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** The value without the null fields of its objects: to Kubernetes they are not there. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}
