import { celGroup, celHas, celString, celWhen } from '../../injection/podspec/cel.ts';
import { POD_SCHEMA } from '../../injection/podspec/schema/pod-schema.ts';
import { pointer } from '../../util/diagnostic.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { isArray, isObject } from '../../util/json.ts';
import { celLiteral } from './literal.ts';

/** An operation of a JSON Patch that adds; `path` and `value` are expressions. */
export function celAdd(path: string, value: string): string {
  return celGroup('JSONPatch{', ['op: "add"', `path: ${path}`, `value: ${value}`], '}');
}

/** Creates an empty list or map if the pod has none: CEL cannot add to a missing field. */
export function celMake(path: readonly [string, string], empty: '[]' | '{}', condition?: string): string {
  const absent = `!${celHas(path.join('.'))}`;
  const make = celAdd(celString(pointer(path)), empty);
  return celWhen(condition === undefined ? absent : `${condition} && ${absent}`, make);
}

/** Sets the fields that a variable lists, in one object of the spec. */
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

/** The API server cannot add a list of objects in one operation, so add its items one by one. */
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
