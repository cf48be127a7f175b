import type { Findings, Path } from '../../../util/diagnostic.ts';
import { parseDuration } from '../../../util/duration.ts';
import { isArray, isObject, type JsonObject, type JsonValue, own } from '../../../util/json.ts';
import { suggest } from '../../../util/suggest.ts';
import { parseQuantity } from '../quantity.ts';

/** The type of a field. Any other name is a type of the same table. */
type Scalar = 'string' | 'int32' | 'int64' | 'number' | 'boolean' | 'quantity' | 'int-or-string' | 'any';

/** One field, as the Kubernetes OpenAPI and the API server's validation describe it. */
export interface FieldSchema {
  readonly type: Scalar | (string & {});
  /** Whether the field must be set; text and lists must not be empty. */
  readonly required?: true;
  /** A list of `type`. */
  readonly list?: true;
  /** A map from strings to `type`. */
  readonly map?: true;
  /** The fields that identify items when two lists are merged. A list without them is atomic. */
  readonly mergeKeys?: readonly string[];
  /** The accepted values. */
  readonly values?: readonly string[];
  /** What the API server writes if the field is absent. */
  readonly default?: string | number;
  /** The minimum and maximum of a number. */
  readonly range?: readonly [number, number];
}

export type ObjectSchema = Readonly<Record<string, FieldSchema>>;

/** Types by name. */
export type Schema = Readonly<Record<string, ObjectSchema>>;

/**
 * What is wrong with an object by its schema. The API server silently drops unknown fields of a patched
 * pod, so a misspelt field is a fault here. A null field counts as absent, as in the API server.
 */
export function* checkObject(value: JsonValue, fields: ObjectSchema, types: Schema, path: Path): Findings {
  if (!isObject(value)) {
    yield { path, message: `must be a mapping of fields, not ${describe(value)}` };
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!field) yield { path: [...path, key], message: unknownField(key, Object.keys(fields)) };
    else if (item !== null) yield* checkField(item, field, types, [...path, key]);
  }
  for (const [key, field] of Object.entries(fields)) {
    if (field.required && isEmpty(value, key))
      yield { path: [...path, key], message: 'required, but missing' };
  }
}

function isEmpty(object: JsonObject, key: string): boolean {
  const value = own(object, key) ?? '';
  return value === '' || (isArray(value) && value.length === 0);
}

function unknownField(key: string, known: readonly string[]): string {
  const meant = suggest(key, known);
  if (meant) return `unknown field ${JSON.stringify(key)}: did you mean ${meant}?`;
  const all = known.length <= 12 ? `: expected one of ${known.join(', ')}` : '';
  return `unknown field ${JSON.stringify(key)}${all}`;
}

function* checkField(value: JsonValue, field: FieldSchema, types: Schema, path: Path): Findings {
  if (field.list) {
    if (!isArray(value)) yield { path, message: `must be a list, not ${describe(value)}` };
    else for (const [i, item] of value.entries()) yield* checkValue(item, field, types, [...path, i]);
  } else if (field.map) {
    if (!isObject(value)) yield { path, message: `must be a mapping, not ${describe(value)}` };
    else
      for (const [key, item] of Object.entries(value)) yield* checkValue(item, field, types, [...path, key]);
  } else {
    yield* checkValue(value, field, types, path);
  }
}

function* checkValue(value: JsonValue, field: FieldSchema, types: Schema, path: Path): Findings {
  const fields = types[field.type];
  if (fields) {
    yield* checkObject(value, fields, types, path);
    return;
  }
  const fault = scalarFault(value, field.type) ?? constraintFault(value, field);
  if (fault) yield { path, message: fault };
}

function constraintFault(value: JsonValue, { values, range }: FieldSchema): string | undefined {
  if (values && !values.includes(String(value))) {
    const meant = suggest(String(value), values);
    return `must be one of ${values.join(', ')}${meant ? `: did you mean ${meant}?` : ''}`;
  }
  if (range && typeof value === 'number' && (value < range[0] || value > range[1])) {
    return `must be from ${range[0]} to ${range[1]}, not ${value}`;
  }
  return undefined;
}

function scalarFault(value: JsonValue, type: string): string | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? undefined : `must be a string${quoted(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `must be true or false, not ${describe(value)}`;
    case 'int32':
    case 'int64':
      if (!Number.isSafeInteger(value)) return `must be a whole number${notInteger(value)}`;
      return type === 'int32' && !isInt32(value) ? `must be a 32-bit number, not ${value}` : undefined;
    case 'number':
      return typeof value === 'number' ? undefined : `must be a number, not ${describe(value)}`;
    case 'int-or-string':
      return isInt32(value) || typeof value === 'string'
        ? undefined
        : `must be a whole number or a string, not ${describe(value)}`;
    case 'duration':
      return typeof value === 'string' && parseDuration(value) !== undefined
        ? undefined
        : `must be a duration such as 30s, 10m or 1h30m, not ${describe(value)}`;
    case 'quantity':
      return parseQuantity(value) === undefined
        ? `must be a quantity such as 100m, 0.5 or 512Mi, not ${describe(value)}`
        : undefined;
    default:
      return undefined;
  }
}

function isInt32(value: JsonValue): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

function quoted(value: JsonValue): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `: write "${value}" with quotes`;
  return `, not ${describe(value)}`;
}

function notInteger(value: JsonValue): string {
  if (typeof value === 'string' && /^0[0-7]+$/.test(value)) {
    const decimal = Number.parseInt(value, 8);
    return `; ${value} is octal only in YAML 1.1: write ${decimal} or 0o${value.replace(/^0+/, '')}`;
  }
  return `, not ${describe(value)}`;
}

function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  const text = JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 37)}…`;
}
