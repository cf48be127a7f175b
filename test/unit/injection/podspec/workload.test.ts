import { expect, test } from '@jest/globals';
import {
  asTemplate,
  createdPod,
  describeObject,
  isPod,
  objectsOf,
  type PodTemplateRule,
  parseTemplatePath,
  podSites,
  typeOf,
} from '../../../../src/injection/podspec/workload.ts';
import { CUSTOM_KINDS, creatorName } from '../../../../src/injection/podspec/workload-kinds.ts';
import type { JsonObject } from '../../../../src/util/json.ts';

const POD = { metadata: { labels: { a: 'b' } }, spec: { containers: [] } };

test.each<[string, string, readonly string[]]>([
  ['v1', 'Pod', []],
  ['v1', 'PodTemplate', ['template']],
  ['v1', 'ReplicationController', ['spec', 'template']],
  ['apps/v1', 'Deployment', ['spec', 'template']],
  ['apps/v1beta2', 'Deployment', ['spec', 'template']],
  ['extensions/v1beta1', 'Deployment', ['spec', 'template']],
  ['apps/v1', 'ReplicaSet', ['spec', 'template']],
  ['apps/v1', 'StatefulSet', ['spec', 'template']],
  ['apps/v1', 'DaemonSet', ['spec', 'template']],
  ['batch/v1', 'Job', ['spec', 'template']],
  ['batch/v1', 'CronJob', ['spec', 'jobTemplate', 'spec', 'template']],
  ['batch/v1beta1', 'CronJob', ['spec', 'jobTemplate', 'spec', 'template']],
  ['apps.openshift.io/v1', 'DeploymentConfig', ['spec', 'template']],
])('podSites finds the pod template of %s %s', (apiVersion, kind, path) => {
  const object = withPodAt(path, { apiVersion, kind, metadata: { name: 'x' } });
  expect([...podSites(object)].map((site) => site.path)).toEqual([path]);
  const list = { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Service' }, object] };
  expect([...podSites(list)].map((site) => site.path)).toEqual([['items', 1, ...path]]);
});

test.each<[string, string]>([
  ['sim.example.com/v1', 'Job'],
  ['apps/v1', 'Pod'],
  ['v1', 'Service'],
  ['example.com/v1', 'Rollout'],
])('podSites looks for no pod in %s %s', (apiVersion, kind) => {
  expect([...podSites({ apiVersion, kind, spec: { template: POD, containers: [] } })]).toEqual([]);
});

test.each(CUSTOM_KINDS.map(({ group, kind, paths }) => [`${group}/v1`, kind, paths] as const))(
  'podSites finds each pod template of %s %s',
  (apiVersion, kind, paths) => {
    for (const path of paths) {
      const keys = path.replaceAll('[]', '.1').replaceAll('*', 'Worker').split('.');
      const object = { apiVersion, kind, ...(nested(keys) as object) };
      const place = keys.map((key) => (key === '1' ? 1 : key));
      expect([...podSites(object)]).toEqual([{ object, path: place, pod: POD }]);
    }
    expect([...podSites({ apiVersion: 'example.com/v1', kind, spec: { template: POD } })]).toEqual([]);
  },
);

/** An object with the pod template at a path; `1` is the second item of a list. */
function nested([key, ...keys]: readonly string[]): unknown {
  if (key === undefined) return POD;
  return key === '1' ? [{}, nested(keys)] : { [key]: nested(keys) };
}

test('parseTemplatePath takes each path of a known kind', () => {
  const paths = CUSTOM_KINDS.flatMap((each) => each.paths);
  expect(paths.filter((path) => parseTemplatePath(path) === undefined)).toEqual([]);
});

test.each(['', '.', 'a..b', 'a.', 'a[', 'a[0]', 'a[]b', '[]'])(
  'parseTemplatePath does not take %j for a path',
  (path) => {
    expect(parseTemplatePath(path)).toBeUndefined();
  },
);

const object = (apiVersion: string) => ({
  apiVersion,
  kind: 'Gang',
  spec: { template: POD, roles: [POD, {}] },
});
const rule = (path: string, group?: string, version?: string) => ({
  kind: 'Gang',
  group,
  version,
  path: parseTemplatePath(path) ?? [],
});
const found = (apiVersion: string, ...rules: readonly PodTemplateRule[]) =>
  Array.from(podSites(object(apiVersion), rules), ({ path }) => path.join('.'));

test('podSites uses the rules of users for a kind of any group, of one, and of one version', () => {
  expect(found('example.com/v1', rule('spec.template'))).toEqual(['spec.template']);
  expect(found('example.com/v1', rule('spec.template', 'example.com'))).toEqual(['spec.template']);
  expect(found('example.com/v1', rule('spec.template', 'other.io'))).toEqual([]);
  expect(found('example.com/v1', rule('spec.template', 'example.com', 'v2'))).toEqual([]);
  expect(found('example.com/v2', rule('spec.template', 'example.com', 'v2'))).toEqual(['spec.template']);
});

test('podSites uses all rules of users that fit, in place of the known ones', () => {
  const rules = [rule('spec.roles[]'), rule('spec.template')];
  expect(found('example.com/v1', ...rules)).toEqual(['spec.roles.0', 'spec.roles.1', 'spec.template']);
  const rollout = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Rollout',
    spec: { template: POD, mine: POD },
  };
  const mine = { kind: 'Rollout', group: undefined, path: ['spec', 'mine'] };
  expect([...podSites(rollout, [mine])]).toMatchObject([{ path: ['spec', 'mine'] }]);
});

const claims = [{ metadata: { name: 'data' } }, { metadata: { name: 'logs' } }];
const set = (spec: JsonObject): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db' },
  spec: { volumeClaimTemplates: claims, template: { spec } },
});
const claimed = (name: string) => ({ name, persistentVolumeClaim: { claimName: `${name}-db-0` } });
const [emptyData, tmp] = ['data', 'tmp'].map((name) => ({ name, emptyDir: {} }));

test.each<[string, JsonObject, JsonObject]>([
  ['without volumes', {}, { volumes: [claimed('data'), claimed('logs')] }],
  [
    'with volumes, one of which has the name of a claim',
    { volumes: [emptyData ?? {}, tmp ?? {}] },
    { volumes: [claimed('data'), claimed('logs'), tmp ?? {}] },
  ],
])('the pod of a StatefulSet has its claims as volumes: %s', (_, spec, want) => {
  expect(createdPod(set(spec), { spec })).toEqual({ spec: want });
  const pod = { spec };
  const injected = { spec: { ...want, volumes: [...(want.volumes as JsonObject[]), claimed('envoy')] } };
  const written = asTemplate(pod, createdPod(set(spec), pod), injected).spec as JsonObject;
  expect(written.volumes).toEqual([...((spec.volumes ?? []) as JsonObject[]), claimed('envoy')]);
  expect(asTemplate(pod, createdPod(set(spec), pod), { spec: want })).toEqual(pod);
});

test.each([
  { apiVersion: 'apps/v1', kind: 'Deployment', spec: { volumeClaimTemplates: claims } },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', spec: { volumeClaimTemplates: [] } },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', spec: {} },
])('the pod of another kind than a StatefulSet is the template of %j', (object) => {
  const pod = { spec: {} };
  expect(createdPod(object, pod)).toBe(pod);
  expect(asTemplate(pod, pod, POD)).toBe(POD);
});

test.each([null, 5, [], { kind: 'Deployment' }, { kind: 'List' }])(
  'podSites finds nothing in %j',
  (document) => {
    expect([...podSites(document)]).toEqual([]);
  },
);

test('the items of a typed list get its kind if they lack theirs, but not those of a List', () => {
  const item = { metadata: { name: 'web' }, spec: { template: POD } };
  const list = (kind: string, ...items: JsonObject[]) => ({ apiVersion: 'apps/v1', kind, items });
  const typed = { ...item, apiVersion: 'apps/v1', kind: 'Deployment' };
  const read = (document: JsonObject) => Array.from(objectsOf(document), ([object]) => object);
  expect(read(list('DeploymentList', item, { ...item, kind: 'Other' }))).toEqual([typed, typed]);
  expect(read(list('List', item, list('DeploymentList', item)))).toEqual([item, typed]);
  expect([...podSites(list('DeploymentList', item))]).toEqual([
    { object: typed, path: ['items', 0, 'spec', 'template'], pod: POD },
  ]);
});

test.each<[string, JsonObject, boolean]>([
  ['Pod', { apiVersion: 'v1', kind: 'Pod' }, true],
  ['Pod.metrics.k8s.io', { apiVersion: 'metrics.k8s.io/v1', kind: 'Pod' }, false],
  ['Deployment.apps', { apiVersion: 'apps/v1', kind: 'Deployment' }, false],
  ['Secret', { apiVersion: 'v1', kind: 'Secret' }, false],
  ['', {}, false],
])('an object of the type "%s" is known by its kind and its group', (type, object, is) => {
  expect(typeOf(object)).toBe(type);
  expect(isPod({ object, path: [], pod: object })).toBe(is);
});

test('describeObject names an object as kubectl does', () => {
  expect(describeObject({ kind: 'Deployment', metadata: { name: 'web' } })).toBe('deployment/web');
  expect(describeObject({ kind: 'Pod', metadata: { generateName: 'web-' } })).toBe('pod/web-*');
});

function withPodAt(path: readonly string[], object: Record<string, unknown>) {
  if (path.length === 0) return { ...object, ...POD, kind: object.kind as string };
  const value = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), POD);
  return { ...object, ...(value as object) } as { kind: string };
}

// biome-ignore format: a line for each case
test.each<[string, string, string, JsonObject, string]>([
  ['of a Deployment, whose ReplicaSet has a hash', 'ReplicaSet', 'web-5b69b9f8c6', { labels: { 'pod-template-hash': '5b69b9f8c6' } }, 'web'],
  ['of a Rollout of Argo', 'ReplicaSet', 'roll-7c9d', { labels: { 'rollouts-pod-template-hash': '7c9d' } }, 'roll'],
  ['of a Service of Knative, by its label', 'ReplicaSet', 'hello-1-5b', { labels: { 'pod-template-hash': '5b', 'serving.knative.dev/service': 'hello' } }, 'hello'],
  ['of a JobSet', 'Job', 'train-w-0', { labels: { 'jobset.sigs.k8s.io/jobset-name': 'train' } }, 'train'],
  ['of a LeaderWorkerSet, whose workers have StatefulSets', 'StatefulSet', 'lws-0', { labels: { 'leaderworkerset.sigs.k8s.io/name': 'lws' } }, 'lws'],
  ['of a DeploymentConfig, by its annotation', 'ReplicationController', 'web-3', { annotations: { 'openshift.io/deployment-config.name': 'web' } }, 'web'],
  ['of a standalone ReplicaSet', 'ReplicaSet', 'web-5b69b9f8c6', {}, 'web-5b69b9f8c6'],
  ['of a ReplicaSet that only looks like it has a hash', 'ReplicaSet', 'web5b69b9f8c6', { labels: { 'pod-template-hash': '5b69b9f8c6' } }, 'web5b69b9f8c6'],
  ['of a CronJob, whose Job has the minute', 'Job', 'backup-29384756', {}, 'backup'],
  ['of a Job that ends in a date', 'Job', 'migrate-20240115', {}, 'migrate-20240115'],
  ['of a standalone Job', 'Job', 'migrate-42', {}, 'migrate-42'],
  ['of a Job with a number of its own', 'Job', 'migrate-12345678', {}, 'migrate-12345678'],
  ['of a Job that ends in a second', 'Job', 'migrate-1732600000', {}, 'migrate-1732600000'],
  ['of a StatefulSet', 'StatefulSet', 'db-12345678', {}, 'db-12345678'],
])('the name of the workload is that %s', (_, kind, name, metadata, expected) => {
  expect(creatorName({ kind, name }, { metadata })).toBe(expected);
});
