import { describe, expect, test } from '@jest/globals';
import { describeObject, missingSpec, podSites, replaceAt } from '../../../src/podspec/workload.ts';

const POD = { metadata: { labels: { a: 'b' } }, spec: { containers: [] } };

describe('podSites finds the pod template of', () => {
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
  ])('%s %s', (apiVersion, kind, path) => {
    const object = replaceAtMissing(path, { apiVersion, kind, metadata: { name: 'x' } });
    expect([...podSites(object)].map((site) => site.path)).toEqual([path]);
    const list = { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Service' }, object] };
    expect([...podSites(list)].map((site) => site.path)).toEqual([['items', 1, ...path]]);
  });
});

test.each<[string, string]>([
  ['sim.example.com/v1', 'Job'],
  ['apps/v1', 'Pod'],
  ['v1', 'Service'],
  ['argoproj.io/v1alpha1', 'Rollout'],
])('no pod is looked for in %s %s', (apiVersion, kind) => {
  expect([...podSites({ apiVersion, kind, spec: { template: POD, containers: [] } })]).toEqual([]);
});

test('podSites uses the rules of users for their own kinds', () => {
  const object = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout', spec: { template: POD } };
  const path = ['spec', 'template'];
  expect([...podSites(object, [{ kind: 'Rollout', group: 'argoproj.io', path }])]).toMatchObject([
    { path, pod: POD },
  ]);
  expect([...podSites(object, [{ kind: 'Rollout', group: undefined, path }])]).toHaveLength(1);
  expect([...podSites(object, [{ kind: 'Rollout', group: 'other.io', path }])]).toEqual([]);
});

test.each([null, 5, [], { kind: 'Deployment' }, { kind: 'List' }])(
  'podSites finds nothing in %j',
  (document) => {
    expect([...podSites(document)]).toEqual([]);
  },
);

test('missingSpec names the missing spec, also of a workload in a List', () => {
  const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } };
  const [alone] = podSites(web);
  const [listed] = podSites({ apiVersion: 'v1', kind: 'List', items: [{}, web] });
  const [pod] = podSites({ apiVersion: 'v1', kind: 'Pod' });
  const [whole] = podSites({ apiVersion: 'v1', kind: 'Pod', spec: {} });
  expect([alone, listed, pod, whole].map((site) => site && missingSpec(site))).toEqual([
    'spec.template.spec',
    'spec.template.spec',
    'spec',
    undefined,
  ]);
});

test('describeObject names an object as kubectl does', () => {
  expect(describeObject({ kind: 'Deployment', metadata: { name: 'web' } })).toBe('deployment/web');
  expect(describeObject({ kind: 'Pod', metadata: { generateName: 'web-' } })).toBe('pod/web-*');
});

test('replaceAt shares the unchanged parts with the document', () => {
  const document = { a: { b: [1, { c: 2 }] }, d: { e: 3 } };
  const changed = replaceAt(document, [[['a', 'b', 1], 4]]);
  expect(changed).toEqual({ a: { b: [1, 4] }, d: { e: 3 } });
  expect((changed as typeof document).d).toBe(document.d);
  expect(document).toEqual({ a: { b: [1, { c: 2 }] }, d: { e: 3 } });
});

function replaceAtMissing(path: readonly string[], object: Record<string, unknown>) {
  if (path.length === 0) return { ...object, ...POD, kind: object.kind as string };
  const value = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), POD);
  return { ...object, ...(value as object) } as { kind: string };
}
