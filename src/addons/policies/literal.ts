import { celGroup, celHas, celString, celWhen } from '../../injection/podspec/cel.ts';
import { POD_SCHEMA } from '../../injection/podspec/schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from '../../injection/podspec/schema/schema.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { pointer } from '../../util/patch.ts';

/** A template that CEL cannot express. The message says why. */
export class UnsupportedInCel extends Error {}

/**
 * A value of a Kubernetes type as a literal of CEL. The API server requires that objects are typed by their path
 * (k8s.io/apiserver/pkg/cel/mutation/dynamic, CheckTypeNamesMatchFieldPathNames): those of `spec.containers` are
 * `Object.spec.containers{…}`, and their ports `Object.spec.containers.ports{…}`.
 */
export function celLiteral(value: JsonValue, field: FieldSchema, path: string): string {
  if (field.list && isArray(value)) {
    return celGroup(
      '[',
      value.map((item) => single(item, field, path)),
      ']',
    );
  }
  if (field.map && isObject(value)) {
    const entries = Object.entries(value);
    return celGroup(
      '{',
      entries.map(([key, item]) => `${celString(key)}: ${single(item, field, path)}`),
      '}',
    );
  }
  return single(value, field, path);
}

/** An object as a literal of CEL, with further fields that are already expressions. */
export function celObject(
  value: JsonObject,
  type: string,
  path: string,
  further: readonly string[] = [],
): string {
  const fields: ObjectSchema = POD_SCHEMA[type] ?? {};
  const members = Object.entries(value).map(([key, item]) => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) throw new UnsupportedInCel(`${path}.${key} is unknown`);
    return `${key}: ${celLiteral(item, field, `${path}.${key}`)}`;
  });
  return celGroup(`Object.${path}{`, [...members, ...further], '}');
}

function single(value: JsonValue, { type }: FieldSchema, path: string): string {
  if (isObject(value) && Object.hasOwn(POD_SCHEMA, type)) return celObject(value, type, path);
  // All values of a CEL map have one type, and a quantity may be a number or a string.
  if (type === 'quantity') return celString(String(value));
  if (typeof value === 'string') return celString(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UnsupportedInCel(`${path} has no type that CEL can check`);
}

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
export function celSetFields(key: string, type: string, fields: JsonObject): readonly string[] {
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
