import { expect, test } from '@jest/globals';
import { decide, inject } from '../../../src/injection/inject.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { effectMistakes, optInMistakes } from '../../../src/injection/mistakes.ts';
import { podCreation } from '../../../src/injection/podspec/admission-target.ts';
import type { SkipReason } from '../../../src/injection/rules/index.ts';
import { type JsonObject, own } from '../../../src/util/json.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  demoPod,
  OPT_IN,
  podWith,
  STATUS,
  templateSet,
} from '../../support/injection/demo.ts';
import { injectChecked, metadataOf, namesOf, specOf } from '../../support/injection/inject-checked.ts';

type Overrides = Parameters<typeof decideInput>[1];

const plain = podWith({}, { annotations: {} });
const labelled = (value: string) => podWith({}, { labels: { [OPT_IN]: value }, annotations: {} });
const annotated = (value: string) => podWith({}, { annotations: { [OPT_IN]: value } });
const options = { keys: keysFor(), requireAnnotation: true, operatorNamespace: 'operator' };
const allPods = { options: { ...options, requireAnnotation: false } };
const namespaced = (value: string) => ({ namespaceLabels: { [OPT_IN]: value } });
const request = (change: object) => ({ request: { ...podCreation('default'), ...change } });
const resource = (group: string, version: string, name: string) => ({ group, version, resource: name });

/** The case, the reason or that it is injected, and whether the author is warned; the pod, and what else differs. */
// biome-ignore format: a line for each case
const table: readonly [string, `${SkipReason | 'injected'}${'' | ' (warned)'}`, JsonObject?, Overrides?][] = [
  // Only the creation of pods.
  ['an UPDATE', 'not-a-pod-create', demoPod(), request({ operation: 'UPDATE' })],
  ['a DELETE', 'not-a-pod-create', demoPod(), request({ operation: 'DELETE' })],
  ['a CONNECT', 'not-a-pod-create', demoPod(), request({ operation: 'CONNECT' })],
  ['a subresource', 'not-a-pod-create', demoPod(), request({ subResource: 'ephemeralcontainers' })],
  ['an empty subresource', 'injected', demoPod(), request({ subResource: '' })],
  ['another resource', 'not-a-pod-create', demoPod(), request({ resource: resource('', 'v1', 'podtemplates') })],
  ['pods of another group', 'not-a-pod-create', demoPod(), request({ resource: resource('metrics.k8s.io', 'v1', 'pods') })],
  ['another kind', 'not-a-pod-create', demoPod(), request({ kind: { group: '', version: 'v1', kind: 'Binding' } })],
  // Namespaces.
  ['kube-system', 'system-namespace (warned)', demoPod(), { request: podCreation('kube-system') }],
  ['kube-public', 'system-namespace (warned)', demoPod(), { request: podCreation('kube-public') }],
  ['kube-node-lease', 'system-namespace (warned)', demoPod(), { request: podCreation('kube-node-lease') }],
  ['a namespace whose name only begins like one', 'injected', demoPod(), { request: podCreation('kube-systems') }],
  ["the operator's namespace", 'operator-namespace (warned)', demoPod(), { request: podCreation('operator'), options }],
  [
    'a system namespace that opts in, without a warning for every pod',
    'system-namespace',
    plain,
    { request: podCreation('kube-system'), ...namespaced('true') },
  ],
  // Pods that cannot have a sidecar.
  ['a mirror pod', 'mirror-pod', podWith({}, { annotations: { [OPT_IN]: 'true', 'kubernetes.io/config.mirror': 'hash' } })],
  ['a Windows pod by os', 'windows (warned)', podWith({ os: { name: 'windows' } })],
  ['a Linux pod by os', 'injected', podWith({ os: { name: 'linux' } })],
  ['a Windows pod by node selector', 'windows (warned)', podWith({ nodeSelector: { 'kubernetes.io/os': 'windows' } })],
  ['hostNetwork', 'host-network (warned)', podWith({ hostNetwork: true })],
  ['hostNetwork false', 'injected', podWith({ hostNetwork: false })],
  ['no containers', 'no-containers', podWith({ containers: [] })],
  ['null containers', 'no-containers', podWith({ containers: null })],
  // The opt-in: label before annotation, pod before namespace, the all-pods rule last.
  ['no opt-in', 'not-opted-in', plain],
  ['the label true', 'injected', labelled('true')],
  ['the label false', 'opted-out', labelled('false')],
  ['the annotation true', 'injected', annotated('true')],
  ['the annotation false', 'opted-out', annotated('false')],
  ['the label false over the annotation true', 'opted-out', podWith({}, { labels: { [OPT_IN]: 'false' }, annotations: { [OPT_IN]: 'true' } })],
  ['the label true over the annotation false', 'injected', podWith({}, { labels: { [OPT_IN]: 'true' }, annotations: { [OPT_IN]: 'false' } })],
  ['the namespace true', 'injected', plain, namespaced('true')],
  ['the namespace false', 'opted-out', plain, namespaced('false')],
  ['the annotation false over the namespace true', 'opted-out', annotated('false'), namespaced('true')],
  ['the annotation true over the namespace false', 'injected', annotated('true'), namespaced('false')],
  ['the all-pods rule', 'injected', plain, allPods],
  ['the namespace false over the all-pods rule', 'opted-out', plain, { ...allPods, ...namespaced('false') }],
  ['the annotation false over the all-pods rule', 'opted-out', annotated('false'), allPods],
  // Invalid values.
  ['an empty annotation', 'invalid-value (warned)', annotated('')],
  ['a True', 'invalid-value (warned)', annotated('True')],
  ['a yes', 'invalid-value (warned)', labelled('yes')],
  ['a mistyped label over a namespace true', 'invalid-value (warned)', labelled('fasle'), namespaced('true')],
  ['a mistyped namespace label', 'invalid-value (warned)', plain, namespaced('treu')],
  ['an annotation that is not a string', 'not-opted-in', podWith({}, { annotations: { [OPT_IN]: true } })],
  ['labels and annotations that are null', 'not-opted-in', podWith({}, { labels: null, annotations: null })],
  // Templates.
  ['no valid template', 'no-template (warned)', demoPod(), { state: { fault: 'config: bad' } }],
  ['no valid template, and not opted in', 'not-opted-in', plain, { state: { fault: 'config: bad' } }],
  ['a template that does not exist', 'unknown-template (warned)', podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config,nope' } })],
  ['a template of the namespace that does not exist', 'unknown-template (warned)', demoPod(), { namespaceTemplates: 'nope' }],
  [
    'a template of the namespace that does not exist, although the pod selects its own',
    'injected',
    podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: 'config' } }),
    { namespaceTemplates: 'nope' },
  ],
  ['the default template by its name, with blanks', 'injected', podWith({}, { annotations: { [OPT_IN]: 'true', [`${OPT_IN}-templates`]: ' config ' } })],
  // Containers that already exist.
  [
    'a container with that name',
    'container-exists (warned)',
    podWith({
      containers: [
        { name: 'app', image: 'a' },
        { name: 'envoy', image: 'own' },
      ],
    }),
  ],
  ['an init container with that name', 'container-exists (warned)', podWith({ initContainers: [{ name: 'envoy', image: 'own' }] })],
  ['a container with that name and the image auto', 'injected', podWith({ containers: [{ name: 'app', image: 'a' }, { name: 'envoy', image: 'auto' }] })],
];

test.each(table)('decide %s: %s', (_, outcome, pod = demoPod(), overrides = {}) => {
  const decision = decide(decideInput(pod, overrides));
  const told = decision.inject ? 'injected' : `${decision.reason}${decision.warn ? ' (warned)' : ''}`;
  expect(told).toBe(outcome);
});

test('decide warns about a reason before the opt-in only if the pod itself opted in', () => {
  const pod = podWith({ hostNetwork: true }, { annotations: {} });
  expect(decide(decideInput(pod, namespaced('true')))).toMatchObject({
    reason: 'host-network',
    warn: false,
  });
});

test('decide quotes, escapes and cuts an invalid value', () => {
  const decision = decide(decideInput(annotated(`"a\n${'x'.repeat(1000)}`)));
  expect(decision).toMatchObject({
    diagnostics: [
      { message: `the pod's annotation ${OPT_IN} is "\\"a\\n${'x'.repeat(28)}…": write "true" or "false"` },
    ],
  });
});

test('decide returns whether the pod itself opted in', () => {
  expect(decide(decideInput(demoPod(), { state: { fault: 'x' } }))).toMatchObject({ explicit: true });
  expect(decide(decideInput(plain, { state: { fault: 'x' }, ...namespaced('true') }))).toMatchObject({
    explicit: false,
  });
});

test('decide derives all keys from --annotation', () => {
  const pod = podWith({}, { annotations: { 'example.com/mesh': 'true' } });
  const own = { options: { ...options, keys: keysFor('example.com/mesh') } };
  expect(decide(decideInput(pod, own)).inject).toBe(true);
  expect(decide(decideInput(demoPod(), own))).toMatchObject({ reason: 'not-opted-in' });
});

test('decide does not treat inherited properties as an opt-in', () => {
  const keyed = { options: { ...options, keys: keysFor('constructor') } };
  expect(decide(decideInput(demoPod(), keyed))).toMatchObject({ reason: 'not-opted-in' });
});

const injected = () => {
  const result = inject(decideInput(demoPod()));
  if (result.outcome !== 'injected') throw new Error(result.outcome);
  return result.pod;
};

test('a pod that is injected already stays unchanged', () => {
  expect(decide(decideInput(injected()))).toMatchObject({ reason: 'already-injected', warn: false });
});

test('a pod that is injected already differs from a pod with a copied status and no sidecar', () => {
  const annotations = (injected().metadata as JsonObject).annotations as JsonObject;
  expect(decide(decideInput(podWith({}, { annotations }))).inject).toBe(true);
});

const status = () => JSON.parse(String(own(own(metadataOf(injected()), 'annotations'), STATUS)));

test.each<[string, JsonObject]>([
  ['adds nothing', { added: {} }],
  ['says nothing of additions', { added: null }],
  ['adds containers without a name', { added: { containers: [] } }],
  ['adds the container of the application', { added: { containers: ['myapp-container'] } }],
  ['merged the container of the application', { added: {}, overlaid: { 'myapp-container': {} } }],
])("an injected pod differs from one without the template's containers whose status %s", (_, lie) => {
  const annotations = { [OPT_IN]: 'true', [STATUS]: JSON.stringify({ ...status(), ...lie }) };
  const { pod } = injectChecked(decideInput(podWith({}, { annotations })));
  expect(namesOf(specOf(pod).containers)).toEqual(['myapp-container', 'envoy']);
});

test('an injected pod differs from one whose status is right, but whose container is yet to be merged', () => {
  const annotations = { [OPT_IN]: 'true', [STATUS]: JSON.stringify(status()) };
  const containers = [{ name: 'envoy', image: 'auto' }];
  const { pod } = injectChecked(decideInput(podWith({ containers }, { annotations })));
  expect(specOf(pod).containers).toMatchObject([{ image: expect.stringContaining('lyft/envoy') }]);
});

test('an injected pod differs from one whose status is right, but which lacks an init container', () => {
  const config = 'initContainers: [{name: setup, image: i}]\ncontainers: [{name: envoy, image: i}]';
  const state = { set: templateSet({ config }) };
  const { pod } = injectChecked(decideInput(demoPod(), { state }));
  const { initContainers: _, ...spec } = specOf(pod);
  expect(decide(decideInput({ ...pod, spec }, { state }))).toMatchObject({ reason: 'container-exists' });
});

test('an injected pod with another state of the template is not injected again', () => {
  const pod = injected();
  const annotations = {
    [OPT_IN]: 'true',
    [STATUS]: '{"version":1,"templates":[{"name":"config","sha256":"0"}],"added":{"containers":["envoy"]}}',
  };
  const stale = { ...pod, metadata: { ...(pod.metadata as JsonObject), annotations } };
  expect(decide(decideInput(stale))).toMatchObject({
    reason: 'container-exists',
    diagnostics: [{ message: expect.stringContaining('from an earlier injection') }],
  });
});

test.each(['', 'null', '[]', '{"version":2}', '{"version":1,"templates":7,"added":[]}', 'injected'])(
  'an injected pod is not recognized by a status of %j',
  (status) => {
    const pod = podWith({}, { annotations: { [OPT_IN]: 'true', [STATUS]: status } });
    expect(decide(decideInput(pod)).inject).toBe(true);
  },
);

const mistakes = (object: JsonObject, pod: JsonObject, namespaceLabels?: Record<string, string>) => [
  ...optInMistakes({ object, path: [], pod }, keysFor(), namespaceLabels),
];
const quoted = (place: string, value: string) =>
  `${place} must be strings, but ${OPT_IN} is ${value}: write ${OPT_IN}: "${value}" with quotes`;
const misplaced = (place: string, kind: string) =>
  `${OPT_IN} is in the ${place} of the ${kind} itself, which its pods do not inherit: move it to the metadata of its pod template`;

test.each([true, false, 1])('a failed opt-in is a value without its quotes: %j', (value) => {
  const labels = { metadata: { labels: { [OPT_IN]: value } } };
  expect(mistakes(labels, labels)).toEqual([quoted('labels', String(value))]);
  const both = { metadata: { labels: { [OPT_IN]: value }, annotations: { [OPT_IN]: value } } };
  expect(mistakes(both, both)).toEqual([
    quoted('labels', String(value)),
    quoted('annotations', String(value)),
  ]);
});

test.each(['labels', 'annotations'])(
  'a failed opt-in is an opt-in in the %s of the workload itself',
  (place) => {
    const deployment = { kind: 'Deployment', metadata: { [place]: { [OPT_IN]: 'true' } } };
    expect(mistakes(deployment, {})).toEqual([misplaced(place, 'Deployment')]);
    expect(mistakes({ metadata: deployment.metadata }, {})).toEqual([misplaced(place, 'object')]);
  },
);

test.each([
  ['initializer.kubernetes.io/envoi', 'true'],
  ['initializer.kubernetes.io/Envoy', 'True'],
  ['initialiser.kubernetes.io/envoy', 'false'],
  ['initializer.kubernetes.io/evoy', true],
])('a failed opt-in is a misspelled key: %s', (key, value) => {
  const message = (where: string) => `${key} in the ${where} has no effect: did you mean ${OPT_IN}?`;
  expect(mistakes({}, { metadata: { labels: { [key]: value } } })).toEqual([message('labels of the pod')]);
  expect(mistakes({}, { metadata: { annotations: { [key]: value } } })).toEqual([
    message('annotations of the pod'),
  ]);
  expect(mistakes({}, {}, { [key]: String(value) })).toEqual([message('labels of the namespace')]);
});

test('a failed opt-in is reported once', () => {
  const twice = { labels: { [OPT_IN]: 'true' }, annotations: { [OPT_IN]: 'true' } };
  expect(mistakes({ kind: 'Job', metadata: twice }, {})).toEqual([misplaced('labels', 'Job')]);
});

// biome-ignore format: a line for each case
test.each<[string, JsonObject, JsonObject]>([
  ['no opt-in', { kind: 'Deployment' }, {}],
  ['a pod with a string', {}, { metadata: { labels: { [OPT_IN]: 'true' } } }],
  ['keys of others', {}, { metadata: { labels: { envoy: 'true', 'example.com/envoy': 'true' } } }],
  ['a similar key with another value', {}, { metadata: { labels: { 'initializer.kubernetes.io/envoi': 'v2' } } }],
  ['the key of rollouts', {}, { metadata: { labels: { 'initializer.kubernetes.io/rollout': 'false' } } }],
  ['another annotation of ours', {}, { metadata: { annotations: { [`${OPT_IN}-routes`]: 'false' } } }],
  ['a misspelled key beside the right one', {}, { metadata: { labels: { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoi': 'true' } } }],
  ['a null value', {}, { metadata: { annotations: { [OPT_IN]: null } } }],
  [
    'an opt-in in the workload and in its pods, where the pods decide',
    { kind: 'Deployment', metadata: { labels: { [OPT_IN]: 'true' } } },
    { metadata: { annotations: { [OPT_IN]: 'false' } } },
  ],
])('no opt-in is reported as failed with %s', (_, object, pod) => {
  expect(mistakes(object, pod)).toEqual([]);
});

test('no opt-in is reported as failed in a namespace that opts in', () => {
  const labels = { [OPT_IN]: 'true', 'initializer.kubernetes.io/envoi': 'true' };
  expect(mistakes({}, {}, labels)).toEqual([]);
});

const PORTS = `${OPT_IN}-exclude-inbound-ports`;
const READING = `${DEMO_TEMPLATE}initContainers: [{name: init, image: i, env: [{name: A, value: ${PORTS}}]}]\n`;
const asking = (annotations: JsonObject, of = podWith({})) => ({ ...of, metadata: { annotations } });
const auto = (name: string, metadata: JsonObject) =>
  podWith({ containers: [{ name, image: 'auto' }] }, metadata);
const noPorts = (value: string) =>
  `annotation ${PORTS} is "${value}": write ports from 1 to 65535, separated by commas`;

// biome-ignore format: a line for each case
test.each<[string, JsonObject, string | undefined, string?]>([
  ['a label for an annotation', podWith({}, { labels: { [`${OPT_IN}-image`]: 'e' } }), `label ${OPT_IN}-image has no effect: move it to the annotations of the pod`],
  ['a label with ports', podWith({}, { labels: { [PORTS]: '1' } }), `label ${PORTS} has no effect: move it to the annotations of the pod`],
  ['ports that the template does not read', asking({ [OPT_IN]: 'true', [PORTS]: '1' }), `annotation ${PORTS} has no effect: the template does not read it`],
  ['ports that it reads', asking({ [OPT_IN]: 'true', [PORTS]: '1, 65535 22' }), undefined, READING],
  ...['65536', '080', '0', 'x1', '1x', '123456'].map((value) => [`the port ${value}`, asking({ [OPT_IN]: 'true', [PORTS]: value }), noPorts(value), READING] as [string, JsonObject, string, string]),
  ['an annotation without the opt-in', asking({ [`${OPT_IN}-templates`]: 'a' }), `annotation ${OPT_IN}-templates has no effect without the opt-in ${OPT_IN}: "true"`],
  ['annotations that need no opt-in', asking({ [`${OPT_IN}-routes`]: 'false', [`${OPT_IN}er`]: 'a' }), undefined],
  ['an annotation of a pod that opted out', asking({ [OPT_IN]: 'false', [`${OPT_IN}-image`]: 'e' }), undefined],
  ['a container whose image is not set', auto('envoy', { annotations: {} }), `container envoy has the image auto, but its pod gets no sidecar, so it cannot start: set an image, or opt in`],
  ["Istio's container", auto('istio-proxy', { annotations: {} }), undefined],
])('what has no effect is told: %s', (_, pod, mistake, config = DEMO_TEMPLATE) => {
  const injection = inject(decideInput(pod, { state: { set: templateSet({ config }) } }));
  const told = effectMistakes({ object: pod, path: [], pod }, injection, keysFor());
  expect([...told]).toEqual(mistake === undefined ? [] : [mistake]);
});
