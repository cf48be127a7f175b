import fc from 'fast-check';

/** The parts of a schema of a CRD that values depend on. */
export interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/**
 * Values for a part of an object, by its path: `rules[].matches[].path<Exact>.value` is one in an object whose type is
 * Exact. The first expression that finds something counts.
 */
export type Hints = readonly (readonly [path: RegExp, values: fc.Arbitrary<unknown>])[];

const MOST_ITEMS = 3;
const MOST_CHARACTERS = 63;

/**
 * Values that a schema allows, with its defaults, as the API server gives them. Of an object with a type, the member of
 * that name is there and those of other types are not. Rules in CEL are not read.
 */
export function valuesOf(schema: Schema, hints: Hints, path = ''): fc.Arbitrary<unknown> {
  const hint = hints.find(([part]) => part.test(path));
  if (hint) return hint[1];
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'object') return objects(schema, hints, path);
  if (schema.type === 'array') return arrays(schema, hints, `${path}[]`);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer') {
    return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 2 ** 31 - 1 });
  }
  if (schema.type === 'string') return strings(schema);
  throw new Error(`${path}: expected a type that values can be made of, got ${schema.type}`);
}

function objects(schema: Schema, hints: Hints, path: string): fc.Arbitrary<unknown> {
  const types = schema.properties?.type?.enum?.map(String);
  if (types === undefined) return members(schema, hints, path, () => undefined);
  const { required = [] } = schema;
  const ofType = (type: string) =>
    members({ ...schema, required: [...required, 'type'] }, hints, `${path}<${type}>`, (name) => {
      if (name === 'type') return fc.constant(type);
      const owner = types.find((each) => each.toLowerCase() === name.toLowerCase());
      return owner === undefined || owner === type ? undefined : fc.constant(undefined);
    });
  return fc.oneof(...types.map(ofType));
}

function members(
  { properties = {}, required = [] }: Schema,
  hints: Hints,
  path: string,
  known: (name: string) => fc.Arbitrary<unknown> | undefined,
): fc.Arbitrary<unknown> {
  const type = /<(\w+)>$/.exec(path)?.[1]?.toLowerCase();
  const model = Object.entries(properties).map(([name, schema]): [string, fc.Arbitrary<unknown>] => {
    const values = known(name) ?? valuesOf(schema, hints, path === '' ? name : `${path}.${name}`);
    const isNeeded = required.includes(name) || name.toLowerCase() === type;
    return [name, isNeeded ? values : fc.option(values, { nil: schema.default, freq: 3 })];
  });
  // Without the members that are undefined.
  return fc.record(Object.fromEntries(model)).map((object) => JSON.parse(JSON.stringify(object)));
}

function arrays(schema: Schema, hints: Hints, path: string): fc.Arbitrary<unknown> {
  const { items = {}, minItems = 0, maxItems = MOST_ITEMS } = schema;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const key = (item: unknown) =>
    JSON.stringify(
      keys.length > 0 ? keys.map((name) => (item as Readonly<Record<string, unknown>>)[name]) : item,
    );
  const length = { minLength: minItems, maxLength: Math.min(maxItems, Math.max(minItems, MOST_ITEMS)) };
  const values = valuesOf(items, hints, path);
  if ((schema['x-kubernetes-list-type'] ?? 'atomic') === 'atomic') return fc.array(values, length);
  return fc.uniqueArray(values, { ...length, selector: key });
}

function strings({ pattern, minLength = 0, maxLength = MOST_CHARACTERS }: Schema): fc.Arbitrary<string> {
  const isAllowed = (text: string) => text.length >= minLength && text.length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(isAllowed);
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, MOST_CHARACTERS) });
}
