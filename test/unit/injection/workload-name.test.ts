import { describe, expect, test } from '@jest/globals';
import { injectManifests } from '../../../src/injection/manifests/manifests.ts';
import { parseTemplate } from '../../../src/injection/template/parse-template.ts';
import { formatInText } from '../../../src/util/diagnostic.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import { decideInput, OPT_IN, podWith, templateSet } from '../../support/injection/demo.ts';
import { injectChecked, specOf } from '../../support/injection/inject-checked.ts';

const NAME = `\${workload.name}`;

const config = `
containers:
- name: envoy
  image: e
  args: [--service-cluster, '\${workload.name}', 'of \${workload.name}, \${HOME}']
  env: [{name: WORKLOAD, value: '\${workload.name}'}]
env: [{name: OTEL_SERVICE_NAME, value: '\${workload.name}'}]
`;
const state = { set: templateSet({ config }) };

/** The name that the template gets for a pod with this metadata. */
function named(metadata: JsonObject, workload?: string): unknown {
  const annotations = { [OPT_IN]: 'true' };
  const { pod } = injectChecked(
    decideInput(podWith({}, { name: '', annotations, ...metadata }), { state, workload }),
  );
  const [app, envoy] = specOf(pod).containers as JsonObject[];
  const value = (envoy?.env as JsonObject[] | undefined)?.[0]?.value;
  expect(envoy?.args).toEqual(['--service-cluster', value, `of ${value}, \${HOME}`]);
  expect(app?.env).toEqual([{ name: 'OTEL_SERVICE_NAME', value }]);
  return value;
}

const controlledBy = (kind: string, name: string): JsonObject => ({
  ownerReferences: [
    { apiVersion: 'v1', kind: 'Other', name: 'other', uid: 'o' },
    { apiVersion: 'v1', kind, name, uid: 'u', controller: true },
  ],
});

describe('the name of the workload', () => {
  // biome-ignore format: a line for each case
  test.each<[string, JsonObject, string]>([
    [
      'of a Deployment, whose ReplicaSet has a hash',
      { ...controlledBy('ReplicaSet', 'web-5b69b9f8c6'), labels: { 'pod-template-hash': '5b69b9f8c6' } },
      'web',
    ],
    ['of a Rollout of Argo', { ...controlledBy('ReplicaSet', 'roll-7c9d'), labels: { 'rollouts-pod-template-hash': '7c9d' } }, 'roll'],
    [
      'of a Service of Knative, by its label',
      {
        ...controlledBy('ReplicaSet', 'hello-00001-deployment-5b69b9f8c6'),
        labels: { 'pod-template-hash': '5b69b9f8c6', 'serving.knative.dev/service': 'hello' },
      },
      'hello',
    ],
    ['of a JobSet', { ...controlledBy('Job', 'train-w-0'), labels: { 'jobset.sigs.k8s.io/jobset-name': 'train' } }, 'train'],
    [
      'of a LeaderWorkerSet, whose workers have StatefulSets',
      { ...controlledBy('StatefulSet', 'lws-0'), labels: { 'leaderworkerset.sigs.k8s.io/name': 'lws' } },
      'lws',
    ],
    [
      'of a DeploymentConfig, by its annotation',
      {
        ...controlledBy('ReplicationController', 'web-3'),
        annotations: { [OPT_IN]: 'true', 'openshift.io/deployment-config.name': 'web' },
      },
      'web',
    ],
    ['of a standalone ReplicaSet', controlledBy('ReplicaSet', 'web-5b69b9f8c6'), 'web-5b69b9f8c6'],
    [
      'of a ReplicaSet whose name only looks like it has a hash',
      { ...controlledBy('ReplicaSet', 'web5b69b9f8c6'), labels: { 'pod-template-hash': '5b69b9f8c6' } },
      'web5b69b9f8c6',
    ],
    ['of a CronJob, whose Job has the minute', controlledBy('Job', 'backup-29384756'), 'backup'],
    ['of a Job that ends in a date', controlledBy('Job', 'migrate-20240115'), 'migrate-20240115'],
    ['of a standalone Job', controlledBy('Job', 'migrate-42'), 'migrate-42'],
    ['of a Job with a number of its own', controlledBy('Job', 'migrate-12345678'), 'migrate-12345678'],
    ['of a Job that ends in a second', controlledBy('Job', 'migrate-1732600000'), 'migrate-1732600000'],
    ['of a StatefulSet', controlledBy('StatefulSet', 'db-12345678'), 'db-12345678'],
    ['of a pod without owner', { name: 'alone' }, 'alone'],
    ['of a pod that has no name yet', { generateName: 'alone-' }, 'alone'],
    ['of a pod with a generated name', { name: 'alone-x7k2p', generateName: 'alone-' }, 'alone'],
    ['of a pod with a name beside the one to generate', { name: 'other', generateName: 'alone-' }, 'other'],
    ['of a pod with a generated name that was cut', { name: `${'a'.repeat(58)}x7k2p`, generateName: `${'a'.repeat(60)}-` }, 'a'.repeat(60)],
    ['cut to the length of a label value', { name: `${'a'.repeat(62)}-b` }, 'a'.repeat(62)],
    ['with characters of a replacement pattern', { name: 'a$&b' }, 'a$&b'],
  ])('is that %s', (_, metadata, name) => {
    expect(named(metadata)).toBe(name);
  });

  // biome-ignore format: a line for each case
  test.each([
    ['of the workload', 'Deployment, apiVersion: apps/v1, metadata: {name: shop}', ''],
    ['to generate', 'Job, apiVersion: batch/v1, metadata: {generateName: shop-}', ''],
    ['of its creator', 'ReplicaSet, apiVersion: apps/v1, metadata: {name: shop-7c9d}', ', pod-template-hash: 7c9d'],
  ])('of a pod template is the name %s in the file', (_, head, labels) => {
    expect(named({}, 'web')).toBe('web');
    const opted = `{labels: {${OPT_IN}: "true"${labels}}}`;
    const workload = `{kind: ${head}, spec: {template: {metadata: ${opted}, spec: {containers: [{name: app, image: app}]}}}}`;
    const { options } = decideInput({});
    const { text } = injectManifests(workload, {
      decide: options,
      state,
      namespace: 'default',
      podTemplates: [],
    });
    expect(text).toContain('{"name":"WORKLOAD","value":"shop"}');
  });

  test('does not change the state of the template', () => {
    const hash = (name: string) => {
      const pod = podWith({}, { name, annotations: { [OPT_IN]: 'true' } });
      return injectChecked(decideInput(pod, { state })).status.templates;
    };
    expect(hash('a')).toEqual(hash('b'));
  });

  const misplaced = 'is allowed only in env values, command and args: remove it here';
  test.each([
    [`containers: [{name: a, image: 'i:${NAME}'}]`, `config:1:24: containers[0].image: ${NAME} ${misplaced}`],
    [
      `containers: [{name: a, image: i, args: ['${NAME.replace('name', 'nmae')}']}]`,
      `config:1:42: containers[0].args[0]: unknown placeholder ${NAME.replace('name', 'nmae')}: write ${NAME}`,
    ],
    [
      `metadata: {annotations: {a: '${NAME}'}}\nspec: {containers: [{name: a, image: i}]}`,
      `config:1:26: metadata.annotations.a: ${NAME} ${misplaced}`,
    ],
  ])('is refused elsewhere: %s', (text, message) => {
    const parsed = parseTemplate('config', 'config', text);
    expect('faults' in parsed && parsed.faults.map(formatInText)).toEqual([message]);
  });
});
