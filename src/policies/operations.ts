import type { JsonObject, JsonValue } from '../json/json.ts';
import { isArray, isObject } from '../json/json.ts';
import { pointer } from '../json/path.ts';
import { celGroup, celHas, celString, celWhen } from '../podspec/cel.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import { celLiteral } from './literal.ts';

/** An operation of a JSON Patch that adds; `path` and `value` are expressions. */
export function celAdd(path: string, value: string): string {
  return celGroup('JSONPatch{', ['op: "add"', `path: ${path}`, `value: ${value}`], '}');
}

/** Makes an empty list or map where the pod has none: CEL must not add to what is not there. */
export function celMake(path: readonly [string, string], empty: '[]' | '{}', condition?: string): string {
  const absent = `!${celHas(path.join('.'))}`;
  const make = celAdd(celString(pointer(path)), empty);
  return celWhen(condition === undefined ? absent : `${condition} && ${absent}`, make);
}

/** What sets those of the fields of one of the spec's objects that a variable lists. */
export function celSetFields(
  key: 'securityContext' | 'dnsConfig',
  type: 'PodSecurityContext' | 'PodDNSConfig',
  fields: JsonObject,
): readonly string[] {
  return Object.entries(fields).flatMap(([field, value]) =>
    fieldValues(value, type, key, field).map(([path, literal]) =>
      celWhen(
        `${celString(field)} in variables.${key}`,
        celAdd(celString(pointer(['spec', key, ...path])), literal),
      ),
    ),
  );
}

/** The API server cannot patch in a list of objects at once (it expects each to be a plain value). */
function fieldValues(
  value: JsonValue,
  type: string,
  key: string,
  field: string,
): readonly (readonly [readonly string[], string])[] {
  const schema = POD_SCHEMA[type]?.[field];
  if (!schema) return [];
  const path = `spec.${key}.${field}`;
  if (!isArray(value) || !value.some(isObject)) return [[[field], celLiteral(value, schema, path)]];
  const { list: _, ...item } = schema;
  return [[[field], '[]'], ...value.map((each) => [[field, '-'], celLiteral(each, item, path)] as const)];
}
