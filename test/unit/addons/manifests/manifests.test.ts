import { expect, test } from '@jest/globals';
import {
  type InjectManifestsOptions,
  injectManifests,
  namespacesIn,
  uninjectManifests,
} from '../../../../src/addons/manifests/manifests.ts';
import { ENVOY_FILES } from '../../../../src/injection/envoy/files.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import { namespaceOf } from '../../../../src/injection/podspec/workload.ts';
import { readManifests } from '../../../../src/util/manifests/parse.ts';
import { MANIFEST_OPTIONS, OPT_IN, STATUS, templateSet } from '../../../support/injection/demo.ts';
import { ODD_JSON, ODD_YAML } from '../../../support/injection/reading-corpus.ts';

const keys = keysFor();
const TEMPLATE = 'containers: [{name: envoy, image: "i:v1"}]\n';
const IN = `labels: {${OPT_IN}: "true"}`;
const SPEC = 'containers: [{name: app, image: app}]';

const pod = (metadata: string, spec = SPEC) =>
  `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec: {${spec}}\n`;
const deployment = (metadata: string, template: string) =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata: {${metadata}}\nspec: {template: {metadata: {${template}}, spec: {${SPEC}}}}\n`;

const withTemplates = (data: Readonly<Record<string, string>>): InjectManifestsOptions => ({
  ...MANIFEST_OPTIONS,
  state: { set: templateSet(data) },
});
const run = (text: string, template = TEMPLATE) => injectManifests(text, withTemplates({ config: template }));

const outcomes = (text: string, options = withTemplates({ config: TEMPLATE })) =>
  injectManifests(text, options).results.map(({ injection }) => injection.outcome);

const SECRET = `${TEMPLATE}imagePullSecrets: [{name: ours}]\n`;
const note = expect.stringMatching(/^its pods do not get the imagePullSecrets of their service account, /);

// biome-ignore format: a line for each case
test.each<[string, string, string, readonly unknown[]]>([
  ['is for a pod that gets its first ones', pod(`name: a, ${IN}`), SECRET, [note]],
  ['is not for a pod that had some', pod(`name: a, ${IN}`, `${SPEC}, imagePullSecrets: [{name: own}]`), SECRET, []],
  ['is not for a template without any', pod(`name: a, ${IN}`), TEMPLATE, []],
  ['is not for a pod without its sidecar', pod('name: a'), SECRET, []],
])('a note about pull secrets %s', (_, text, template, expected) => {
  expect(run(text, template).results.map(({ notes }) => notes)).toEqual([expected]);
});

test.each<[string, string, string]>([
  ['is the one that it names', pod('namespace: here'), 'here'],
  ['is the default if it names none', pod('name: a'), 'other'],
  ['is the default if its name is empty', pod('namespace: ""'), 'other'],
  ['is that of its workload', deployment('namespace: here', 'namespace: wrong'), 'here'],
])('the namespace of a pod %s', (_, text, expected) => {
  expect(run(text).results.map(({ site }) => namespaceOf(site, 'other'))).toEqual([expected]);
});

test.each([
  ['its own', pod(`namespace: kube-system, ${IN}`), 'default', 'skipped'],
  ['the default', pod(IN), 'kube-system', 'skipped'],
  ['none of the system', pod(IN), 'default', 'injected'],
])('the namespace of a pod decides if it is %s', (_, text, namespace, expected) => {
  expect(outcomes(text, { ...withTemplates({ config: TEMPLATE }), namespace })).toEqual([expected]);
});

const namespace = (metadata: string, apiVersion = 'v1', kind = 'Namespace') =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {${metadata}}\n`;
const allIn = (text: string, name = 'team') => namespacesIn(readManifests(text), keys, 'default')(name);
const settingsIn = (text: string, name?: string) => {
  const { envoyFiles: _, ...settings } = allIn(text, name);
  return settings;
};
const NOTHING = { namespaceLabels: {}, namespaceTemplates: undefined };
const LABELS = { namespaceLabels: { a: 'b' }, namespaceTemplates: undefined };

// biome-ignore format: a line for each case
test.each<[string, string, unknown]>([
  ['are its labels', namespace('name: team, labels: {a: b}'), LABELS],
  [
    'are the templates in its annotation',
    namespace(`name: team, annotations: {${keys.templates}: x}`),
    {
      namespaceLabels: {},
      namespaceTemplates: 'x',
    },
  ],
  ['are only text', namespace(`name: team, labels: {a: b, c: 1}, annotations: {${keys.templates}: 1}`), LABELS],
  ['are in a List', `apiVersion: v1\nkind: List\nitems: [{${namespace('name: team, labels: {a: b}').trim().replaceAll('\n', ', ')}}]\n`, LABELS],
  ['are nothing without metadata', namespace('name: team'), NOTHING],
  ['are nothing if the labels are a list', namespace('name: team, labels: [a]'), NOTHING],
  ['are not those of another namespace', namespace('name: other, labels: {a: b}'), NOTHING],
  ['are not those of another kind', namespace('name: team, labels: {a: b}', 'v1', 'Team'), NOTHING],
  ['are not those of another API', namespace('name: team, labels: {a: b}', 'x/v1'), NOTHING],
])('the settings of a namespace %s', (_, text, expected) => {
  expect(settingsIn(text)).toEqual(expected);
});

test('the settings of a Namespace without a name are those of no name', () => {
  expect(settingsIn(namespace('labels: {a: b}'), '')).toEqual(LABELS);
});

test('the settings of a namespace are its LimitRanges, and the ConfigMap with what Envoy reads', () => {
  const limited = `${namespace('name: l, namespace: team', 'v1', 'LimitRange')}spec: {limits: [{type: Pod}]}\n---\n`;
  const files = `${namespace('name: envoy, namespace: team', 'v1', 'ConfigMap')}data: {a: b}\n---\n`;
  const both = allIn(`${limited}${files}${namespace('name: team, labels: {a: b}')}`);
  expect(both).toMatchObject({
    ...LABELS,
    envoyFiles: { a: 'b' },
    limitRanges: [{ name: 'l', limits: [{ type: 'Pod' }] }],
  });
  // What the operator writes.
  expect(allIn(limited, 'other')).toMatchObject({ envoyFiles: ENVOY_FILES });
  expect(allIn(namespace('name: envoy', 'v1', 'ConfigMap'), 'default')).toMatchObject({ envoyFiles: {} });
});

test('the settings of a namespace decide about its pods', () => {
  const second = `${keys.templates}: second`;
  const templates = withTemplates({
    config: TEMPLATE,
    'config.second': TEMPLATE.replace('envoy', 'second'),
  });
  const text = `${namespace(`name: team, annotations: {${second}}`)}---\n${pod(`namespace: team, ${IN}`)}`;
  expect(injectManifests(text, templates).results.map(({ injected }) => injected)).toMatchObject([
    { spec: { containers: [{ name: 'app' }, { name: 'second' }] } },
  ]);
});

const POD = `apiVersion: v1\nkind: Pod\nmetadata: {labels: {${OPT_IN}: "true"}}\nspec: {containers: [{name: app, image: app}]}\n`;
const PLAIN = POD.replace('true', 'false');
const GARBAGE = `apiVersion: v1\nkind: Pod\nmetadata: {annotations: {${STATUS}: "{"}}\nspec: {containers: [{name: app}]}\n`;
const INJECTED = injectManifests(POD, MANIFEST_OPTIONS).text;

test.each([...ODD_YAML, ...ODD_JSON])('uninjectManifests gives the text back: %s', (_, text) => {
  const { text: injected, results } = injectManifests(text, MANIFEST_OPTIONS);
  expect(results.map(({ injection }) => injection.outcome)).toContain('injected');
  expect(injected).not.toBe(text);
  expect(uninjectManifests(injected, keysFor(), []).text).toBe(text);
});

test.each([
  ['restored', 'was injected', INJECTED, POD],
  ['untouched', 'was not injected', PLAIN, PLAIN],
  ['unreadable', 'has a status that is not valid', GARBAGE, GARBAGE],
])('uninjectManifests has the outcome %s for a pod that %s', (outcome, _, text, expected) => {
  const uninjected = uninjectManifests(text, keysFor(), []);
  expect(uninjected.results.map((result) => result.outcome)).toEqual([outcome]);
  expect(uninjected.text).toBe(expected);
});

test('uninjectManifests has an outcome for each pod, at its site', () => {
  const { text, results } = uninjectManifests(`${INJECTED}---\n${PLAIN}---\n${GARBAGE}`, keysFor(), []);
  expect(text).toBe(`${POD}---\n${PLAIN}---\n${GARBAGE}`);
  expect(results.map(({ outcome }) => outcome)).toEqual(['restored', 'untouched', 'unreadable']);
  expect(results.map(({ site }) => site.object.kind)).toEqual(['Pod', 'Pod', 'Pod']);
});

test('uninjectManifests restores the pod templates of given kinds', () => {
  const podTemplates = [{ kind: 'Own', group: undefined, path: ['spec'] }];
  const text = `apiVersion: x/v1\nkind: Own\nspec: {metadata: {labels: {${OPT_IN}: "true"}}, spec: {containers: [{name: app, image: app}]}}\n`;
  const injected = injectManifests(text, { ...MANIFEST_OPTIONS, podTemplates }).text;
  expect(uninjectManifests(injected, keysFor(), podTemplates).text).toBe(text);
  expect(uninjectManifests(injected, keysFor(), []).text).toBe(injected);
});
