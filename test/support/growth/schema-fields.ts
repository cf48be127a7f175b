import { POD_SCHEMA } from '../../../src/injection/podspec/schema/pod-schema.ts';
import type { FieldSchema } from '../../../src/injection/podspec/schema/schema.ts';
import type { JsonObject, JsonValue } from '../../../src/util/json.ts';
import { mapOf, times } from './growing-input.ts';

/** Where a spec of a pod has each type that a template may add. */
const ROOTS: Readonly<Record<string, FieldSchema>> = {
  containers: { type: 'Container', list: true },
  initContainers: { type: 'Container', list: true },
  volumes: { type: 'Volume', list: true },
  imagePullSecrets: { type: 'LocalObjectReference', list: true },
  hostAliases: { type: 'HostAlias', list: true },
  securityContext: { type: 'PodSecurityContext' },
  dnsConfig: { type: 'PodDNSConfig' },
};

/** A field that holds any number of values, and how a spec comes to hold n of them. */
export interface SizedField {
  /** `Container.env`; of the spec itself `containers`. */
  readonly name: string;
  readonly spec: (n: number) => JsonObject;
}

/** Each list and each map of the pod schema, in the first place in which a spec can have it. */
export function sizedFields(): readonly SizedField[] {
  const found: SizedField[] = [];
  const seen = new Set<string>();
  const visit = (fields: Readonly<Record<string, FieldSchema>>, type: string, wrap: Wrap): void => {
    if (seen.has(type)) return;
    seen.add(type);
    for (const [key, field] of Object.entries(fields)) {
      if (field.list || field.map) {
        found.push({
          name: type === '' ? key : `${type}.${key}`,
          spec: (n) => wrap({ [key]: many(field, n) }),
        });
      }
      const of = POD_SCHEMA[field.type];
      if (!of) continue;
      visit(of, field.type, (object) => wrap({ [key]: held(field, { ...item(field, 0), ...object }) }));
    }
  };
  visit(ROOTS, '', (spec) => spec);
  return found;
}

type Wrap = (object: JsonObject) => JsonObject;

function held(field: FieldSchema, object: JsonObject): JsonValue {
  if (field.list) return [object];
  return field.map ? { key: object } : object;
}

function many(field: FieldSchema, n: number): JsonValue {
  return field.map ? mapOf(n, (index) => value(field, index)) : times(n, (index) => value(field, index));
}

function value(field: FieldSchema, index: number): JsonValue {
  return POD_SCHEMA[field.type] ? item(field, index) : scalar(field, index);
}

/** What must be there; with nothing of that, the first field. */
function item(field: FieldSchema, index: number): JsonObject {
  const fields = Object.entries(POD_SCHEMA[field.type] ?? {});
  const required = fields.filter(([, each]) => each.required);
  const chosen = required.length > 0 ? required : fields.slice(0, 1);
  return Object.fromEntries(
    chosen.map(([key, each]) => [key, each.list ? [value(each, index)] : value(each, index)]),
  );
}

/** No two items have the same where the schema leaves a choice. */
function scalar({ type, values, range, format }: FieldSchema, index: number): JsonValue {
  if (values) return values[index % values.length] ?? '';
  if (type === 'boolean') return true;
  if (type === 'quantity') return `${index + 1}`;
  if (type === 'string' || type === 'int-or-string') return text(format, index);
  const [least, most] = range ?? [0, 1_000_000];
  return least + (index % (most - least + 1));
}

function text(format: FieldSchema['format'], index: number): string {
  if (format === 'absolute-path') return `/item/${index}`;
  if (format === 'ip') return `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  if (format === 'field-path') return `metadata.labels['item-${index}']`;
  return format === 'resource-field' ? 'limits.cpu' : `item-${index}`;
}
