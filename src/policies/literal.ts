import { isArray, isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { celGroup, celString } from '../podspec/cel.ts';
import { POD_SCHEMA } from '../podspec/schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from '../podspec/schema/schema.ts';

/** What cannot be said in CEL; the message says what that is. */
export class UnsupportedInCel extends Error {}

/**
 * A value of a Kubernetes type as a literal of CEL. Objects are typed by where they are, as the API server demands
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

/** An object as a literal of CEL, with further fields that are expressions already. */
export function celObject(
  value: JsonObject,
  type: string,
  path: string,
  further: readonly string[] = [],
): string {
  const fields: ObjectSchema = POD_SCHEMA[type] ?? {};
  const members = Object.entries(value).map(([key, item]) => {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) throw new UnsupportedInCel(`${path}.${key} is not known`);
    return `${key}: ${celLiteral(item, field, `${path}.${key}`)}`;
  });
  return celGroup(`Object.${path}{`, [...members, ...further], '}');
}

function single(value: JsonValue, { type }: FieldSchema, path: string): string {
  if (isObject(value) && Object.hasOwn(POD_SCHEMA, type)) return celObject(value, type, path);
  // Maps of CEL have values of one type, and a quantity may be written either way.
  if (type === 'quantity') return celString(String(value));
  if (typeof value === 'string') return celString(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new UnsupportedInCel(`${path} has no type that CEL could check`);
}
