import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { POD_SCHEMA } from '../../../src/injection/podspec/schema/pod-schema.ts';
import type { FieldSchema, ObjectSchema } from '../../../src/injection/podspec/schema/schema.ts';
import { METADATA, SPEC } from '../../../src/injection/template/parse-template.ts';
import { formatPath, type Path } from '../../../src/util/diagnostic.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

/** The rich template with one thing changed. */
export interface TemplateFault {
  /** What was changed, and to what. */
  readonly name: string;
  readonly template: JsonObject;
}

const TEXTS: readonly JsonValue[] = [
  ...['', ' ', 'a b', "metadata.labels['a b']", "metadata.annotations['UP/x']"],
  ...['x'.repeat(64), 'x'.repeat(254), 'a.'.repeat(130)],
  ...'UPPER / /etc/envoy ../x a/../b a:b -a . .. a/b/c Ünï 0 auto'.split(' '),
  ...'10.0.0.1 ::ffff:10.0.0.1 fe80::1%eth0 1.2.3 a_b.example.com http://x $(PLAIN) $(NONE)'.split(' '),
  ...'metadata.labels spec.nodeName status.hostIP limits.cpu requests.hugepages-2Mi'.split(' '),
  ...'limits.example.com/device SIGKILL RuntimeDefault Localhost Unconfined Unmasked Bidirectional'.split(
    ' ',
  ),
  ...'Enabled RestartContainer Block HTTPS UDP SCTP map block none kernel.shmmax net.ipv4/x'.split(' '),
  ...'iqn.x eui.0123456789abcdef CSI.Example.com'.split(' '),
];
const NUMBERS: readonly JsonValue[] = [
  ...[-1, 0, 1, 2, 31, 512, 3599, 65_536, 2 ** 31 - 1, 2 ** 32, 1.5, 'seven'],
];
const QUANTITIES: readonly JsonValue[] = [0, '', ...'-1 0.5 1m 1.5 1Ki 3Mi 1e3 100Gi much'.split(' ')];

/** Values that may be wrong for a scalar. */
function scalarsOf({ type, values = [] }: FieldSchema): readonly JsonValue[] {
  switch (type) {
    case 'boolean':
      return [true, false, 'yes'];
    case 'quantity':
      return QUANTITIES;
    case 'int-or-string':
      return [0, 8080, 70_000, 'http', 'UPPER', 'none', 'x'.repeat(16), ''];
    case 'string':
      return [...TEXTS, ...values];
    default:
      return NUMBERS;
  }
}

/** Objects of a type: empty, with one scalar each, and with all that the type requires. */
function objectsOf(type: string, depth = 0): readonly JsonObject[] {
  const fields = Object.entries(POD_SCHEMA[type] ?? {});
  const required = Object.fromEntries(
    fields.filter(([, field]) => field.required).map(([key, field]) => [key, plausible(key, field, depth)]),
  );
  const single = fields
    .filter(([key]) => !Object.hasOwn(required, key))
    .map(([key, field]) => ({ ...required, [key]: plausible(key, field, depth) }));
  return [{}, required, ...single];
}

function plausible(key: string, field: FieldSchema, depth: number): JsonValue {
  const item = plausibleItem(key, field, depth);
  if (field.list) return [item];
  return field.map ? { a: item } : item;
}

function plausibleItem(key: string, { type, values, range }: FieldSchema, depth: number): JsonValue {
  if (Object.hasOwn(POD_SCHEMA, type)) return depth > 3 ? {} : (objectsOf(type, depth + 1)[1] ?? {});
  if (values) return values[0] ?? '';
  if (type === 'boolean') return true;
  if (type === 'quantity') return '1';
  if (type !== 'string') return range?.[0] ?? 1;
  if (key === 'fieldPath') return 'metadata.name';
  if (key.endsWith('Path')) return '/a';
  if (key === 'resource') return 'limits.cpu';
  return ['ip', 'hostIP', 'nameservers'].includes(key) ? '10.0.0.1' : 'a';
}

/** All values to put in place of a field's; undefined removes it. */
function changesOf(field: FieldSchema, value: JsonValue | undefined): readonly (JsonValue | undefined)[] {
  const items: readonly JsonValue[] = Object.hasOwn(POD_SCHEMA, field.type)
    ? objectsOf(field.type)
    : scalarsOf(field);
  const gone = value === undefined ? [] : [undefined];
  if (field.list) {
    const before = isArray(value) ? value : [];
    return [
      ...gone,
      [],
      ...items.map((item) => [...before, item]),
      ...before.slice(0, 1).map((item) => [...before, item]),
    ];
  }
  if (field.map) {
    const before = isObject(value) ? value : {};
    const keys = [
      '',
      'a b',
      'x'.repeat(64),
      ...'UPPER/x kubernetes.io/x hugepages-1Gi example.com/other cpu'.split(' '),
    ];
    return [
      ...gone,
      {},
      ...keys.map((key) => ({ ...before, [key]: items[0] ?? 'a' })),
      ...items.map((item) => ({ ...before, more: item })),
    ];
  }
  return [...gone, ...items];
}

/** The template into which faults are put. */
export const RICH_TEMPLATE = load(
  readFileSync(join(projectDirectory(), 'test/support/injection/rich-template.yaml'), 'utf8'),
) as JsonObject;

/** A sample of all faults, the same for the same seed. */
export function templateFaults(count: number, seed: number): readonly TemplateFault[] {
  const all = [
    ...faultsIn(RICH_TEMPLATE.metadata, METADATA, ['metadata']),
    ...faultsIn(RICH_TEMPLATE.spec, SPEC, ['spec']),
  ];
  const most = Math.min(count, all.length);
  const sample = fc.shuffledSubarray(all, { minLength: most, maxLength: most });
  return (fc.sample(sample, { seed, numRuns: 1 })[0] ?? []).map((make) => make());
}

/** Makes one fault: all at once would need too much memory. */
type MakeFault = () => TemplateFault;

function* faultsIn(value: JsonValue | undefined, fields: ObjectSchema, path: Path): Generator<MakeFault> {
  if (!isObject(value)) return;
  for (const [key, field] of Object.entries(fields)) {
    const [at, current] = [[...path, key], value[key]];
    for (const change of changesOf(field, current)) yield () => faultAt(at, change);
    const types = POD_SCHEMA[field.type];
    if (!types) {
      yield* itemFaults(current, field, at);
      continue;
    }
    const items = isArray(current)
      ? current.map((item, i) => [item, [...at, i]] as const)
      : [[current, at] as const];
    for (const [item, place] of items) yield* faultsIn(item, types, place);
  }
}

/** Other values for the scalars of a list or map. */
function* itemFaults(value: JsonValue | undefined, field: FieldSchema, path: Path): Generator<MakeFault> {
  const keys = isArray(value) ? value.keys() : isObject(value) && field.map ? Object.keys(value) : [];
  for (const key of keys) {
    for (const change of scalarsOf(field)) yield () => faultAt([...path, key], change);
  }
}

function faultAt(path: Path, value: JsonValue | undefined): TemplateFault {
  const said = value === undefined ? 'gone' : JSON.stringify(value);
  return {
    name: `${formatPath(path)} ${said.length > 300 ? `${said.slice(0, 300)}…` : said}`,
    template: replaced(RICH_TEMPLATE, path, value) as JsonObject,
  };
}

function replaced(
  whole: JsonValue,
  [key, ...rest]: Path,
  value: JsonValue | undefined,
): JsonValue | undefined {
  if (key === undefined) return value;
  if (isArray(whole))
    return whole.map((item, i) => (i === key ? (replaced(item, rest, value) ?? null) : item));
  const object = isObject(whole) ? whole : {};
  const { [key]: before = null, ...others } = object;
  const after = replaced(before, rest, value);
  return after === undefined ? others : { ...others, [key]: after };
}
