import { expect, test } from '@jest/globals';
import { type CompileOptions, compilePolicies } from '../../../../src/addons/policies/compile.ts';
import { celLiteral, celObject } from '../../../../src/addons/policies/literal.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { celString } from '../../../../src/injection/podspec/cel.ts';
import { POD_SCHEMA } from '../../../../src/injection/podspec/schema/pod-schema.ts';
import type { FieldSchema } from '../../../../src/injection/podspec/schema/schema.ts';
import type { JsonObject, JsonValue } from '../../../../src/util/json.ts';
import { DEMO_TEMPLATE, templateSet } from '../../../support/injection/demo.ts';

const OPTIONS: CompileOptions = {
  keys: keysFor(),
  requireAnnotation: true,
  operatorNamespace: 'envoy-initializer',
  name: 'envoy.initializer.kubernetes.io',
  alone: false,
};
const RESTRICTED = `
containers:
- name: envoy
  image: i
  securityContext:
    allowPrivilegeEscalation: false
    runAsNonRoot: true
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
`;

const compile = (data: Record<string, string>, options: Partial<CompileOptions> = {}) =>
  compilePolicies(templateSet(data), { ...OPTIONS, ...options });

test('compilePolicies fails closed for opted-in pods only if there is no webhook', () => {
  const policies = (alone: boolean) =>
    compile({ config: DEMO_TEMPLATE }, { alone }).objects.flatMap(({ kind, spec }) =>
      kind.endsWith('Policy') ? [`${kind} ${spec.failurePolicy}`] : [],
    );
  expect(policies(false)).toEqual(['MutatingAdmissionPolicy Ignore', 'MutatingAdmissionPolicy Ignore']);
  expect(policies(true)).toEqual([
    'MutatingAdmissionPolicy Fail',
    'MutatingAdmissionPolicy Ignore',
    'ValidatingAdmissionPolicy Ignore',
  ]);
});

test.each([
  ['skip', 'Warn'],
  ['deny', 'Deny'],
])(
  'compilePolicies without a webhook and with onConflict %s answers what gets no sidecar with %s',
  (onConflict, action) => {
    const { objects } = compile(
      { config: DEMO_TEMPLATE, options: `onConflict: ${onConflict}` },
      { alone: true },
    );
    expect(objects.at(-1)?.spec.validationActions).toEqual([action]);
  },
);

test('compilePolicies leaves to the webhook a template that pods select by name', () => {
  expect(compile({ config: RESTRICTED, 'config.other': RESTRICTED }).left).toEqual([
    'template "other": only the webhook injects it, because pods and namespaces select it by annotation',
  ]);
});

test('compilePolicies leaves to the webhook all pods if the template is too long for an expression', () => {
  const config = `{containers: [{name: a, image: i, workingDir: /${'x'.repeat(100_000)}}]}`;
  expect(compile({ config })).toEqual({
    objects: [],
    left: ['template "config": only the webhook injects it: it is too long for a policy'],
  });
});

test.each([
  ['plain', '"plain"'],
  ['"quoted" \\ \'\n', '"\\"quoted\\" \\\\ \'\\n"'],
  ['\u0000\u0007\u001b', '"\\u0000\\u0007\\u001b"'],
  ['🔑 ключ \u2028', '"🔑 ключ \u2028"'],
  ['half of a pair: \ud800', '"half of a pair: \ufffd"'],
])('a policy has the string %j written %s', (text, literal) => {
  expect(celString(text)).toBe(literal);
});

// biome-ignore format: a line for each case
test.each<[string, JsonValue, FieldSchema, string]>([
  ['a list of strings', ['a', 'b'], { type: 'string', list: true }, '["a", "b"]'],
  ['an empty list', [], { type: 'string', list: true }, '[]'],
  ['a map', { 'a"b': 'c' }, { type: 'string', map: true }, '{"a\\"b": "c"}'],
  ['quantities written in two ways', { cpu: 1, memory: '1Mi' }, { type: 'quantity', map: true }, '{"cpu": "1", "memory": "1Mi"}'],
  ['a number', -7, { type: 'int32' }, '-7'],
  ['the largest that is safe', Number.MAX_SAFE_INTEGER, { type: 'int64' }, '9007199254740991'],
  ['a port by name', 'http', { type: 'int-or-string' }, '"http"'],
  ['a port by number', 80, { type: 'int-or-string' }, '80'],
  ['a boolean', false, { type: 'boolean' }, 'false'],
  ['an empty object', {}, { type: 'EmptyDirVolumeSource' }, 'Object.spec.x{}'],
])('a policy has a value as CEL: %s', (_, value, field, literal) => {
  expect(celLiteral(value, field, 'spec.x')).toBe(literal);
});

test('a value in a policy is typed by its path at any depth', () => {
  const container = {
    name: 'a',
    lifecycle: { preStop: { httpGet: { port: 1, httpHeaders: [{ name: 'h', value: 'v' }] } } },
  };
  expect(celObject(container, 'Container', 'spec.containers').replace(/\s+/g, ' ')).toBe(
    'Object.spec.containers{ name: "a", lifecycle: Object.spec.containers.lifecycle{ preStop: ' +
      'Object.spec.containers.lifecycle.preStop{ httpGet: Object.spec.containers.lifecycle.preStop.httpGet{ port: 1, ' +
      'httpHeaders: [Object.spec.containers.lifecycle.preStop.httpGet.httpHeaders{name: "h", value: "v"}] } } } }',
  );
});

test('a value in a policy can have any type of a template, with every field', () => {
  for (const type of Object.keys(POD_SCHEMA)) {
    if (type === 'ManagedFieldsEntry' || type === 'ObjectMeta') continue;
    expect(() => celObject(everything(type), type, 'spec.x')).not.toThrow();
  }
});

/** An object with every field of its type. */
function everything(type: string, depth = 0): JsonObject {
  return Object.fromEntries(
    Object.entries(POD_SCHEMA[type] ?? {})
      .filter(([, field]) => depth < 8 && field.type !== 'ObjectMeta')
      .map(([key, field]) => [key, sampleOf(field, depth)]),
  );
}

function sampleOf(field: FieldSchema, depth: number): JsonValue {
  const { type, list, map } = field;
  const value: JsonValue = Object.hasOwn(POD_SCHEMA, type)
    ? everything(type, depth + 1)
    : type === 'boolean' || (type.startsWith('int') && type !== 'int-or-string' ? 1 : 'text');
  if (list) return [value];
  return map ? { key: value } : value;
}
