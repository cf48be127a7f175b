import {
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  ownString,
  sameJson,
} from '../../../util/json.ts';
import { parseQuantity } from '../quantity.ts';
import { POD_SCHEMA } from '../schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from '../schema/schema.ts';

/** Whether two volumes are equal after the API server has set its defaults. */
export function sameVolume(a: JsonObject, b: JsonObject): boolean {
  return sameJson(comparable(a, 'Volume'), comparable(b, 'Volume'));
}

/** An object without what equals an absent field, and with its quantities by value. */
function comparable(object: JsonObject, type: string): JsonObject {
  const fields: ObjectSchema = POD_SCHEMA[type] ?? {};
  const kept = Object.entries(object).flatMap(([key, item]): [string, JsonValue][] => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) return [[key, item]];
    const value = fieldValue(item, field);
    return isAbsent(value, field) ? [] : [[key, value]];
  });
  return { ...DEFAULTS[type]?.(object), ...Object.fromEntries(kept) };
}

/** Defaults of a whole object (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). The schema has those of fields. */
const DEFAULTS: Readonly<Record<string, (object: JsonObject) => JsonObject>> = {
  Volume: (volume) => (Object.values(volume).some(isObject) ? {} : { emptyDir: {} }),
  ImageVolumeSource: (source) => ({ pullPolicy: pullPolicyOf(ownString(source, 'reference') ?? '') }),
};

function pullPolicyOf(reference: string): string {
  const [, tag, digest] =
    /^[^:@]*(?::([^@]*))?(@.*)?$/.exec(reference.slice(reference.lastIndexOf('/') + 1)) ?? [];
  return (tag ?? (digest === undefined ? 'latest' : '')) === 'latest' ? 'Always' : 'IfNotPresent';
}

function fieldValue(value: JsonValue, field: FieldSchema): JsonValue {
  const single = (item: JsonValue): JsonValue => {
    if (field.type === 'quantity') return parseQuantity(item)?.toString() ?? item;
    return isObject(item) ? comparable(item, field.type) : item;
  };
  if (isArray(value)) return value.map(single);
  if (!field.map || !isObject(value)) return single(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, single(item)]));
}

/** Objects that the API server always writes, even if they are empty. */
const ALWAYS_WRITTEN: readonly string[] = ['ObjectMeta', 'VolumeResourceRequirements'];

function isAbsent(value: JsonValue, field: FieldSchema): boolean {
  if (isArray(value)) return value.length === 0;
  if (isObject(value)) return ALWAYS_WRITTEN.includes(field.type) && Object.keys(value).length === 0;
  if (value === null || value === '' || value === false) return true;
  return field.default !== undefined && value === fieldValue(field.default, field);
}
