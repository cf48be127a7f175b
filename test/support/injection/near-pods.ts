import fc from 'fast-check';
import { DEFAULT_CONTAINER_KEY } from '../../../src/injection/inject.ts';
import { keysFor, knownAnnotations } from '../../../src/injection/keys.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import type { DecideInput } from '../../../src/injection/rule.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import { DEFAULT_TEMPLATE_YAML } from '../../../src/injection/webhook/default-template.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { DEMO_TEMPLATE, OPT_IN, STATUS, templateSet } from './demo.ts';

/** Adds to every list and map of the spec that injection may add to, and to the metadata. */
export const WIDE_TEMPLATE = `
metadata: {labels: {mesh: "1"}, annotations: {example.com/mesh: "1", prometheus.io/port: "15090"}}
spec:
  containers:
    - {name: envoy, image: i, ports: [{name: proxy, containerPort: 15001, hostPort: 15002}]}
  initContainers: [{name: redirect, image: i}]
  volumes: [{name: conf, emptyDir: {}}]
  imagePullSecrets: [{name: registry}]
  securityContext: {fsGroup: 1337, seccompProfile: {type: RuntimeDefault}}
  dnsConfig: {searches: [a.b]}
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
`;
const SECCOMP = 'seccomp.security.alpha.kubernetes.io/pod';
const set = (config: string, options: object = {}) =>
  templateSet({ config, 'config.other': DEMO_TEMPLATE, options: JSON.stringify(options) });
const misfit = (from: TemplateSet): TemplateSet => {
  const [shape, message] = [{ name: 's', path: ['restartPolicy'], value: 'Never' } as const, 'refused'];
  const templates = [...from.templates].map(
    ([name, template]) => [name, { ...template, incompatibleShapes: [{ shape, message }] }] as const,
  );
  return { ...from, templates: new Map(templates) };
};

/** Templates and options of every kind that makes a difference. */
export const NEAR_SETS: readonly TemplateSet[] = [
  set(DEFAULT_TEMPLATE_YAML),
  set(DEMO_TEMPLATE, { nativeSidecar: 'always' }),
  set(WIDE_TEMPLATE),
  set(WIDE_TEMPLATE, { nativeSidecar: 'never', onConflict: 'deny' }),
  set(DEMO_TEMPLATE, { position: 'first' }),
  misfit(set(DEFAULT_TEMPLATE_YAML)),
  set(`${DEMO_TEMPLATE}env: [{name: PROXY, value: x}]\n`),
  set(`${DEMO_TEMPLATE}volumeMounts: [{name: envoy-conf, mountPath: /etc/envoy}]\n`),
  set(DEMO_TEMPLATE.replace('--mode serve', `--mode \${workload.name}`)),
  set(`metadata: {annotations: {${SECCOMP}: runtime/default}}\nspec:\n  containers: [{name: a, image: i}]\n`),
  set(`metadata: {annotations: {long: ${'x'.repeat(30_000)}}}\nspec:\n  containers: [{name: a, image: i}]\n`),
  // Keys that mean something elsewhere, and keys that every object inherits.
  set(
    `metadata: {labels: {${SECCOMP}: x, seccompProfile: y, constructor: z}, annotations: {toString: x}}\nspec:\n  containers: [{name: a, image: i}]\n`,
  ),
  set(
    `metadata: {labels: {${OPT_IN}: "true"}, annotations: {${OPT_IN}: "true", ${DEFAULT_CONTAINER_KEY}: a}}\nspec:\n  containers: [{name: a, image: i}]\n`,
  ),
  set('volumes: [{name: data, emptyDir: {}}]\nhostAliases: [{ip: "::1"}]\n'),
  set(`
initContainers:
  - {name: proxy, image: i, restartPolicy: Always, ports: [{containerPort: 81, name: http, protocol: UDP}]}
  - {name: first, image: i}
containers:
  - {name: a, image: i, lifecycle: {preStop: {sleep: {seconds: 30}}}, resources: {limits: {cpu: 1}}}
`),
  set(`metadata: {annotations: {long: ${'€'.repeat(19_000)}}}\nspec:\n  containers: [{name: a, image: i}]\n`),
];

/** Mostly one of the usual values; now and then an odd one, which may make a difference. */
const either = (usual: readonly (JsonValue | undefined)[], odd: readonly (JsonValue | undefined)[]) =>
  fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
const fields = (of: Record<string, fc.Arbitrary<JsonValue | undefined>>) =>
  fc.record(of).map((all) => {
    const given = Object.entries(all).filter((field): field is [string, JsonValue] => field[1] !== undefined);
    return Object.fromEntries(given) as JsonObject;
  });
const sleepFor = (seconds: number) => ({ preStop: { sleep: { seconds } } });

const container = fields({
  name: either(['app', 'web', 'db', 'log'], ['envoy', 'redirect', 'a', null, 1]),
  image: either(['busybox'], ['auto', undefined]),
  ports: either(
    [undefined, null, [], [{ name: 'http', containerPort: 8080, protocol: 'TCP' }]],
    [
      [{ containerPort: 80 }],
      [{ containerPort: 80, protocol: 'UDP' }],
      [{ containerPort: 15001 }],
      [{ containerPort: 1, hostPort: 15002 }],
      [{ containerPort: 1, name: 'envoy', protocol: 'TCP' }],
      [{ containerPort: 1, name: 'proxy', protocol: 'TCP' }],
      'x',
    ],
  ),
  lifecycle: either([undefined, sleepFor(5), sleepFor(50)], ['x']),
  resources: either([undefined, { requests: { cpu: '1' } }], [{ limits: { cpu: '9' } }]),
});
const initContainer = fc.tuple(container, either([undefined, 'Always'], ['Never'])).map(
  ([its, restartPolicy]): JsonObject => ({
    ...its,
    ...(typeof its.name === 'string' && { name: its.name === 'envoy' ? its.name : `i-${its.name}` }),
    ...(restartPolicy !== undefined && { restartPolicy }),
  }),
);
const listOf = (item: fc.Arbitrary<JsonObject>, ...others: (JsonValue | undefined)[]) =>
  fc.oneof(
    { weight: 24, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }) as fc.Arbitrary<JsonValue> },
    { weight: 24 * others.length, arbitrary: fc.constantFrom(...others) },
    { weight: 2, arbitrary: fc.constantFrom<JsonValue>('x', {}, ['x'], [null]) },
  );
const named = (usual: readonly string[], odd: readonly string[]) => fields({ name: either(usual, odd) });

const spec = fields({
  containers: fc.oneof(
    { weight: 40, arbitrary: fc.array(container, { minLength: 1, maxLength: 3 }) as fc.Arbitrary<JsonValue> },
    { weight: 1, arbitrary: fc.constantFrom<JsonValue>([], null, {}, [null], [{ name: 'a' }, 'x']) },
  ),
  initContainers: listOf(initContainer, undefined, null, []),
  volumes: listOf(named(['data', 'tmp'], ['envoy-conf', 'conf']), undefined, null, []),
  imagePullSecrets: listOf(named(['mine'], ['registry']), undefined, null, []),
  hostAliases: listOf(fields({ ip: either(['10.0.0.2'], ['10.0.0.1']) }), undefined, null, []),
  securityContext: either(
    [undefined, null, {}, { runAsUser: 1 }],
    [{ fsGroup: 1 }, { fsGroup: null }, { seccompProfile: { type: 'Unconfined' } }, 'x', []],
  ),
  dnsConfig: either([undefined, null, {}, { options: [] }], [{ searches: [] }, { searches: ['x'] }, 1]),
  restartPolicy: either([undefined, null, 'Always', 'Never', 'OnFailure'], ['Sometimes', 1]),
  terminationGracePeriodSeconds: either([undefined, null, 30, 60, 10], [9, 0, '30']),
  nodeSelector: either(
    [undefined, {}, { 'kubernetes.io/os': 'linux' }],
    [{ 'kubernetes.io/os': 'windows' }, 'x'],
  ),
  os: either([undefined], [{ name: 'windows' }, { name: 'linux' }]),
  hostNetwork: either([undefined], [true, false]),
  hostIPC: either([undefined], [true]),
  hostUsers: either([undefined], [false]),
  resources: either(
    [undefined],
    [{ limits: { cpu: '1' }, requests: { cpu: '1' } }, { requests: { cpu: '1m' } }],
  ),
  fromTheFuture: either([undefined], [{}]),
  tolerations: either([undefined, [{ operator: 'Exists' }]], ['x']),
});
const annotation = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.constantFrom<JsonObject[]>(
      { a: 'b' },
      { 'kubectl.kubernetes.io/default-container': 'x' },
      { 'prometheus.io/path': '/' },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<JsonObject[]>(
      ...['image', 'cpu-limit', 'log-level', 'templates', 'status'].map((name) => ({
        [`${OPT_IN}-${name}`]: 'other',
      })),
      ...['kubernetes.io/config.mirror', 'example.com/mesh', SECCOMP].map((key) => ({ [key]: 'x' })),
      ...[20_000, 43_600, 43_690, 130_000, 261_000].map((size) => ({ long: '€'.repeat(size / 3), x: '' })),
      ...[43_600, 43_690, 261_000].map((size) => ({ long: 'x'.repeat(size) })),
      { [OPT_IN]: 'false' },
      { [STATUS]: '{"version":1}', number: 1 },
      { number: 1 },
      { list: ['x', 'y'] },
    ),
  },
);
const metadata = fields({
  name: fc.constant('pod'),
  labels: either(
    [undefined, null, {}, { app: 'a', [OPT_IN]: 'true' }],
    [{ mesh: '2' }, { mesh: null }, { [OPT_IN]: 'false' }, { [OPT_IN]: 'treu' }, 'x'],
  ),
  annotations: fc.oneof(
    { weight: 20, arbitrary: annotation as fc.Arbitrary<JsonValue> },
    { weight: 40, arbitrary: fc.constantFrom<(JsonValue | undefined)[]>(undefined, null, {}) },
    { weight: 1, arbitrary: fc.constantFrom<JsonValue>('x', ['x']) },
  ),
});
const pod = fields({
  metadata: fc.oneof(
    { weight: 40, arbitrary: metadata as fc.Arbitrary<JsonValue | undefined> },
    { weight: 1, arbitrary: fc.constantFrom(undefined, null, 'x') },
  ),
  spec: fc.oneof(
    { weight: 40, arbitrary: spec as fc.Arbitrary<JsonValue | undefined> },
    { weight: 1, arbitrary: fc.constantFrom(undefined, null, 'x') },
  ),
});

/** All keys and plain values in these values. */
function partsOf(value: JsonValue): readonly (string | number | boolean)[] {
  if (isArray(value)) return value.flatMap(partsOf);
  if (isObject(value)) return Object.entries(value).flatMap(([key, item]) => [key, ...partsOf(item)]);
  return value === null ? [] : [value];
}
const parts = [
  ...new Set(
    NEAR_SETS.flatMap((each) => [...each.templates.values()] as unknown as JsonValue[]).flatMap(partsOf),
  ),
].filter((part) => String(part).length < 100);
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const newKeys = [
  ...parts.filter((part) => typeof part === 'string'),
  ...knownAnnotations(keysFor()),
  ...INHERITED,
  ...[
    '',
    '0',
    '-1',
    'ephemeralContainers',
    'hostPID',
    'resourceClaims',
    'setHostnameAsFQDN',
    'hostnameOverride',
  ],
  // The same name in other characters.
  ...[
    'envo\u0443',
    'app\u0301',
    'ENVOY',
    'envoy\u0000',
    ' envoy',
    `${OPT_IN}\u200b`,
    `${OPT_IN}-`,
    'spec.volumes',
  ],
];
const newValues: readonly (JsonValue | undefined)[] = [
  ...parts,
  ...parts
    .map((part) => (typeof part === 'number' ? String(part) : Number(part)))
    .filter((part) => !Number.isNaN(part)),
  ...newKeys,
  ...[undefined, null, true, false, -0, 0, 1, 29.5, 30, -1, Number.POSITIVE_INFINITY, 2 ** 53, '\ud800'],
  ...[[], {}, [null], [[]], [{}], [{ name: null }], [{ name: '' }], [{ name: 'envoy' }], { name: 'envoy' }],
  ...INHERITED.map((key) => Object.fromEntries([[key, { image: 'auto', name: 'envoy', ports: [] }]])),
];

interface Change {
  /** Which child to go to, modulo their number and one more: a new one. */
  readonly way: readonly number[];
  /** The key of a new field. */
  readonly key: string;
  /** Undefined removes. */
  readonly value: JsonValue | undefined;
}

/** A value with one change somewhere in it. */
function changed(at: JsonValue, { way, key, value }: Change): JsonValue | undefined {
  const [step, ...rest] = way;
  if (step === undefined || typeof at !== 'object' || at === null) return value;
  const keys = isArray(at) ? [...at.keys()].map(String) : Object.keys(at);
  const entries = new Map(Object.entries(at));
  const chosen = keys[step % (keys.length + 1)] ?? key;
  const next = changed(entries.get(chosen) ?? null, { way: rest, key, value });
  if (next === undefined) entries.delete(chosen);
  else entries.set(chosen, next);
  return isArray(at) ? [...entries.values()] : Object.fromEntries(entries);
}

const change: fc.Arbitrary<Change> = fc.record({
  way: fc.array(fc.nat(50), { minLength: 2, maxLength: 6 }),
  key: fc.constantFrom(...newKeys),
  value: fc.constantFrom(...newValues),
});
const changedPod = fc
  .tuple(pod, fc.oneof(fc.constant([]), fc.array(change, { minLength: 1, maxLength: 2 })))
  .map(([its, changes]) => changes.reduce<JsonObject>((all, each) => changed(all, each) as JsonObject, its));

const mostly = <T>(usual: T, ...odd: T[]) =>
  fc.oneof({ weight: 60, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) });

/** Pods that injection treats alike, and pods that nearly are such, with their requests and namespaces. */
export const nearPods: fc.Arbitrary<
  Pick<DecideInput, 'request' | 'pod' | 'namespaceLabels' | 'namespaceTemplates'>
> = fc.record({
  request: mostly(
    podCreation('default'),
    podCreation('kube-system'),
    podCreation('envoy-initializer'),
    { ...podCreation('default'), operation: 'UPDATE' },
    { ...podCreation('default'), subResource: 'status' },
  ),
  pod: changedPod,
  namespaceLabels: mostly<Readonly<Record<string, string>>>(
    { [OPT_IN]: 'true' },
    {},
    { [OPT_IN]: 'false' },
    { [OPT_IN]: 'True' },
    { [OPT_IN]: 'true', 'pod-security.kubernetes.io/warn': 'restricted' },
    ...['restricted', 'baseline', 'privileged', ''].map((level) => ({
      [OPT_IN]: 'true',
      'pod-security.kubernetes.io/enforce': level,
    })),
  ),
  namespaceTemplates: mostly<string | undefined>(undefined, 'other', 'missing', 'config', ''),
});
