import { isArray, isObject, type JsonArray, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { POD_SCHEMA } from './schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from './schema/schema.ts';

/**
 * Fields of which an object may have only one. The OpenAPI does not mark them. A merge that kept both a
 * template's `httpGet` and a user's `tcpSocket` would create a probe that the API server rejects.
 */
const EXCLUSIVE: Readonly<Record<string, readonly string[]>> = {
  AppArmorProfile: ['type', 'localhostProfile'],
  EnvVar: ['value', 'valueFrom'],
  EnvVarSource: ['configMapKeyRef', 'fieldRef', 'fileKeyRef', 'resourceFieldRef', 'secretKeyRef'],
  LifecycleHandler: ['exec', 'httpGet', 'sleep', 'tcpSocket'],
  Probe: ['exec', 'grpc', 'httpGet', 'tcpSocket'],
  SeccompProfile: ['type', 'localhostProfile'],
  Volume: Object.keys(POD_SCHEMA.Volume ?? {}).filter((field) => field !== 'name'),
  VolumeMount: ['subPath', 'subPathExpr'],
};

/** Objects that are replaced as a whole: a template's divisor does not fit another resource. */
const ATOMIC: ReadonlySet<string> = new Set(['ResourceFieldSelector']);

/**
 * Merges `over` into `base` by the rules of a strategic merge patch: lists with merge keys item by item,
 * atomic lists and scalars as a whole, maps and objects field by field. A null in `over` counts as absent.
 * Changes neither argument.
 */
export function strategicMerge(base: JsonObject, over: JsonObject, type: string): JsonObject {
  const fields: ObjectSchema = POD_SCHEMA[type] ?? {};
  const exclusive = (EXCLUSIVE[type] ?? []).filter((field) => own(over, field) != null).length > 0;
  const kept = Object.entries(base).filter(
    ([field]) => !(exclusive && EXCLUSIVE[type]?.includes(field)) || own(over, field) != null,
  );
  const merged = new Map<string, JsonValue>(kept);
  for (const [key, value] of Object.entries(over)) {
    if (value === null) continue;
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    merged.set(key, mergeField(merged.get(key), value, field));
  }
  return Object.fromEntries(merged);
}

function mergeField(base: JsonValue | undefined, over: JsonValue, field: FieldSchema | undefined): JsonValue {
  if (!field) return over;
  if (field.list) {
    return field.mergeKeys && isArray(base) && isArray(over) ? mergeLists(base, over, field) : over;
  }
  if (!isObject(base) || !isObject(over) || ATOMIC.has(field.type)) return over;
  if (field.map) return { ...base, ...over };
  return Object.hasOwn(POD_SCHEMA, field.type) ? strategicMerge(base, over, field.type) : over;
}

/** The items of both lists. Items with equal keys are merged at the place in `base`; new ones follow. */
function mergeLists(base: JsonArray, over: JsonArray, field: FieldSchema): JsonArray {
  const merged = new Map<string, JsonValue>(base.map((item) => [identity(item, field), item]));
  for (const item of over) {
    const key = identity(item, field);
    const previous = merged.get(key);
    const both = isObject(previous) && isObject(item);
    merged.set(key, both ? strategicMerge(previous, item, field.type) : item);
  }
  return [...merged.values()];
}

/** The identity of an item: its merge keys, with the defaults of the API server. */
function identity(item: JsonValue, { type, mergeKeys = [] }: FieldSchema): string {
  return JSON.stringify(mergeKeys.map((key) => own(item, key) ?? POD_SCHEMA[type]?.[key]?.default ?? null));
}
