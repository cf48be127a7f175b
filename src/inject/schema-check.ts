import type { Findings } from './fault.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from './json.ts';
import type { Path } from './path.ts';
import { parseQuantity } from './quantity.ts';
import type { FieldSchema, ObjectSchema, Schema } from './schema.ts';
import { suggest } from './suggest.ts';

/**
 * What is wrong with an object by its schema. The API server drops fields that it does not know from a
 * patched pod without a word, so a misspelt one is a fault here. A null field counts as absent, as there.
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
    if (field.required && isMissing(value, key)) {
      yield { path: [...path, key], message: 'required, and not there' };
    }
  }
}

function isMissing(object: JsonObject, key: string): boolean {
  return !Object.hasOwn(object, key) || object[key] === null;
}

function unknownField(key: string, known: readonly string[]): string {
  const meant = suggest(key, known);
  if (meant) return `unknown field ${JSON.stringify(key)}: did you mean ${meant}?`;
  const all = known.length <= 12 ? `: known are ${known.join(', ')}` : '';
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
  const fault = scalarFault(value, field.type);
  if (fault) yield { path, message: fault };
  else if (field.values && !field.values.includes(String(value))) {
    const meant = suggest(String(value), field.values);
    const hint = meant ? `: did you mean ${meant}?` : '';
    yield { path, message: `must be one of ${field.values.join(', ')}${hint}` };
  }
}

function scalarFault(value: JsonValue, type: string): string | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? undefined : `must be a string: ${quoted(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `must be true or false, not ${describe(value)}`;
    case 'integer':
      return Number.isSafeInteger(value) ? undefined : `must be a whole number, ${notInteger(value)}`;
    case 'number':
      return typeof value === 'number' ? undefined : `must be a number, not ${describe(value)}`;
    case 'int-or-string':
      return Number.isSafeInteger(value) || typeof value === 'string'
        ? undefined
        : `must be a whole number or a string, not ${describe(value)}`;
    case 'quantity':
      return parseQuantity(value) === undefined
        ? `must be a quantity such as 100m, 0.5 or 512Mi, not ${describe(value)}`
        : undefined;
    default:
      return undefined;
  }
}

function quoted(value: JsonValue): string {
  if (typeof value === 'number' || typeof value === 'boolean') return `write "${value}", with the quotes`;
  return `it is ${describe(value)}`;
}

function notInteger(value: JsonValue): string {
  if (typeof value === 'string' && /^0[0-7]+$/.test(value)) {
    const decimal = Number.parseInt(value, 8);
    return `and ${value} is octal only in YAML 1.1: write ${decimal} or 0o${value.replace(/^0+/, '')}`;
  }
  return `not ${describe(value)}`;
}

function describe(value: JsonValue): string {
  if (value === null) return 'nothing';
  if (isArray(value)) return 'a list';
  if (isObject(value)) return 'a mapping';
  const text = JSON.stringify(value);
  return text.length <= 40 ? text : `${text.slice(0, 37)}…`;
}
