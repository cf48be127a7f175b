import type { Findings, Path } from '../../../util/diagnostic.ts';
import { parseDuration } from '../../../util/duration.ts';
import { isArray, isObject, type JsonValue, own } from '../../../util/json.ts';
import { suggest } from '../../../util/suggest.ts';
import { parseQuantity } from '../quantity.ts';

/** The type of a field. Any other name is a type of the same table. */
type Scalar = 'string' | 'int32' | 'int64' | 'boolean' | 'quantity' | 'int-or-string' | 'any';

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
    const given = own(value, key) ?? '';
    const isMissing = given === '' || (isArray(given) && given.length === 0);
    if (field.required && isMissing) yield { path: [...path, key], message: 'required, but missing' };
  }
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

/** The types of scalars: which values they have, and what to write instead of another one. */
const SCALARS: Readonly<Record<string, readonly [is: (value: JsonValue) => boolean, expected: string]>> = {
  string: [(value) => typeof value === 'string', 'a string'],
  boolean: [(value) => typeof value === 'boolean', 'true or false'],
  int32: [isInt32, 'a 32-bit number'],
  int64: [Number.isSafeInteger, 'a whole number'],
  'int-or-string': [(value) => isInt32(value) || typeof value === 'string', 'a whole number or a string'],
  duration: [
    (value) => typeof value === 'string' && parseDuration(value) !== undefined,
    'a duration such as 30s, 10m or 1h30m',
  ],
  quantity: [(value) => parseQuantity(value) !== undefined, 'a quantity such as 100m, 0.5 or 512Mi'],
};

function scalarFault(value: JsonValue, type: string): string | undefined {
  // What is no whole number is said to be none, before its size is.
  if (type === 'int32' && !Number.isSafeInteger(value)) return scalarFault(value, 'int64');
  const [is, expected] = SCALARS[type] ?? [];
  if (!is || is(value)) return undefined;
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return `must be ${expected}: write "${value}" with quotes`;
  if (type === 'int64' && typeof value === 'string' && /^0[0-7]+$/.test(value)) {
    const octal = `${value} is octal only in YAML 1.1`;
    return `must be ${expected}; ${octal}: write ${Number.parseInt(value, 8)} or 0o${value.replace(/^0+/, '')}`;
  }
  return `must be ${expected}, not ${describe(value)}`;
}

function isInt32(value: JsonValue): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

function describe(value: JsonValue): string {
  if (value === null) return 'null';
  if (isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  const text = JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 37)}…`;
}
