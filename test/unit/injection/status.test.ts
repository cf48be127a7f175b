import { expect, test } from '@jest/globals';
import { named, plainPod, refusedFields, trialPod } from '../../../src/injection/dry-run-pod.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { namespaceSettings } from '../../../src/injection/namespace-settings.ts';
import { parseStatus, StatusBuilder } from '../../../src/injection/status.ts';
import { MAX_DIAGNOSTICS } from '../../../src/util/diagnostic.ts';
import { type JsonObject, own } from '../../../src/util/json.ts';
import { NEVER, OPT_IN, templateSet, withMisfit } from '../../support/injection/demo.ts';

test('StatusBuilder records the original place of merged containers that moved', () => {
  const status = new StatusBuilder();
  for (const name of ['moved', 'stayed', 'gone', 'new']) status.overlaid(name, { name });
  const [moved, stayed] = [{ name: 'moved' }, { name: 'stayed' }];
  const before = { spec: { containers: [stayed, moved], initContainers: [{ name: 'gone' }] } };
  const after = { spec: { containers: [stayed, { name: 'new' }], initContainers: [moved] } };
  expect(status.build([], before, after).moved).toEqual({
    moved: { list: 'containers', index: 1 },
    gone: { list: 'initContainers', index: 0 },
  });
});

const parsed = (status: JsonObject) => parseStatus(JSON.stringify({ version: 1, ...status }));

test('parseStatus reads what is missing as empty', () => {
  const nothing = { added: {}, overlaid: {}, moved: {}, requests: {} };
  expect(parsed({})).toEqual({ templates: [], ...nothing });
  expect(parsed({ templates: [{}] })).toEqual({ templates: [{ name: '', sha256: '' }], ...nothing });
});

test('parseStatus drops names that are no text', () => {
  expect(parsed({ added: { volumes: ['a', 1, null], env: 'b' } })?.added).toEqual({
    volumes: ['a'],
    env: [],
  });
});

test.each<[string, JsonObject | string]>([
  ['another list', { list: 'volumes', index: 0 }],
  ['an index that is text', { list: 'containers', index: '0' }],
  ['an index below 0', { list: 'containers', index: -1 }],
  ['an index that is not whole', { list: 'containers', index: 1.5 }],
  ['no place', 'containers'],
])('parseStatus drops an origin with %s', (_, forged) => {
  const origin = { list: 'initContainers', index: 0 };
  expect(parsed({ moved: { forged, origin } })?.moved).toEqual({ origin });
});

const KEYS = keysFor('example.com/envoy');

test('the settings of a namespace are its labels and the annotation that selects templates', () => {
  const annotations = { 'example.com/envoy-templates': 'gateway', note: 'x' };
  expect(namespaceSettings({ labels: { a: 'b' }, annotations }, KEYS)).toEqual({
    namespaceLabels: { a: 'b' },
    namespaceTemplates: 'gateway',
  });
});

test('a namespace without labels and annotations has no settings', () => {
  expect(namespaceSettings({}, KEYS)).toEqual({ namespaceLabels: {}, namespaceTemplates: undefined });
});

const keys = keysFor();
const CONTAINER = 'containers: [{name: a, image: "b:v1"}]';

test('plainPod opts out, and may have a shape', () => {
  expect(plainPod(keys)).toEqual({
    metadata: { generateName: 'envoy-initializer-proof-', labels: { [OPT_IN]: 'false' } },
    spec: { containers: [{ name: 'envoy-initializer-proof', image: 'registry.invalid/proof' }] },
  });
  expect(plainPod(keys, NEVER)).toMatchObject({ spec: { restartPolicy: 'Never' } });
});

test('trialPod has the named template, and opts out', () => {
  const labels = `metadata: {labels: {team: mesh}}\nspec: {${CONTAINER}}`;
  const trial = trialPod(templateSet({ config: CONTAINER, 'config.other': labels }), 'other', keys);
  expect(trial).toMatchObject({
    pod: {
      metadata: {
        generateName: 'envoy-initializer-proof-',
        annotations: { [keys.templates]: 'other' },
        labels: { team: 'mesh', [OPT_IN]: 'false' },
      },
      spec: { containers: [{ image: 'registry.invalid/proof' }, { name: 'a' }] },
    },
  });
});

test.each([
  ['containers: [{name: a, image: "b:v1", HOOK}]', 31, 31],
  ['containers: [{name: a, image: "b:v1", HOOK}]', 30, undefined],
  ['initContainers: [{name: a, image: "b:v1", restartPolicy: Always, HOOK}]', 60, 60],
])('trialPod has the grace period that %s needs if it sleeps for %s s', (config, seconds, expected) => {
  const hook = `lifecycle: {preStop: {sleep: {seconds: ${seconds}}}}`;
  const trial = trialPod(templateSet({ config: config.replace('HOOK', hook) }), 'config', keys);
  const spec = 'pod' in trial ? trial.pod.spec : undefined;
  expect(own(spec, 'terminationGracePeriodSeconds')).toBe(expected);
  expect(trial).toHaveProperty('pod.spec.containers');
});

test('trialPod of a template that does not exist has an obstacle', () => {
  expect(trialPod(templateSet(), 'none', keys)).toHaveProperty('obstacle', expect.stringContaining('none'));
});

test('trialPod of templates with several conflicts has them all as its obstacle', () => {
  const two = 'containers: [{name: a, image: "b:v1"}, {name: b, image: "b:v1"}]';
  const set = templateSet({ config: CONTAINER, 'config.one': two, 'config.two': two });
  expect(trialPod(set, 'one,two', keys)).toEqual({
    obstacle: ['a', 'b']
      .map(
        (name) =>
          `spec.containers[name=${name}]: the template has a container of this name: rename one of them`,
      )
      .join('; '),
  });
});

test('trialPod says why a template fits no pod of a shape', () => {
  const proved = withMisfit(templateSet());
  expect(trialPod(proved, 'config', keys, NEVER)).toEqual({
    obstacle:
      'the API server refuses template config in pods with spec.restartPolicy: Never: containers[0].x: no',
  });
  expect(trialPod(proved, 'config', keys)).toHaveProperty('pod');
});

const pod = { spec: { containers: [{}, { name: 'envoy' }], volumes: [{ name: 'run' }] } };

test.each([
  ['spec.containers[1].env[0].value', 'spec.containers[name=envoy].env[0].value'],
  ['spec.volumes[0].emptyDir', 'spec.volumes[name=run].emptyDir'],
  ['spec.containers[0].image', 'spec.containers[0].image'],
  ['spec.containers[9].image', 'spec.containers[9].image'],
  ['spec.initContainers[0].image', 'spec.initContainers[0].image'],
  ['metadata.labels', 'metadata.labels'],
])('the refusal of the API server in %s is in %s of the template', (field, expected) => {
  expect(named(pod, field).field).toBe(expected);
});

test('the refusal of the API server is said for each field, up to a limit, or in its own words', () => {
  const fields = Array.from({ length: MAX_DIAGNOSTICS + 1 }, () => ({ field: 'spec.x', message: 'no' }));
  expect(refusedFields(pod, { message: 'invalid', fields })).toEqual(
    Array(MAX_DIAGNOSTICS).fill('spec.x: no'),
  );
  expect(refusedFields(pod, { message: 'invalid', fields: [] })).toEqual(['invalid']);
});
