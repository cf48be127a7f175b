import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { networkMistakes } from '../../../src/cli/check/check-network.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { optInMistakes } from '../../../src/injection/mistakes.ts';
import { podSites } from '../../../src/injection/podspec/workload.ts';
import { CUSTOM_KINDS } from '../../../src/injection/podspec/workload-kinds.ts';
import { NETWORK_ANNOTATION } from '../../../src/networks/api/names.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { must } from '../../env/operator.ts';
import { AdminApi } from '../../support/operator/admin-api.ts';
import { serviceAccount } from '../../support/operator/default-account.ts';

const KEY = 'initializer.kubernetes.io/envoy';
const ON = { [KEY]: 'true' };
const BY_POLICY =
  "Validation failed for ValidatingAdmissionPolicy 'envoy-initializer-opt-in' with binding 'envoy-initializer-opt-in'";
let controlPlane: ControlPlane;
let api: AdminApi;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  api = new AdminApi(controlPlane);
  await must(
    controlPlane,
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: CRDS }),
  );
  await must(controlPlane, ['wait', '--for=condition=established', '--timeout=30s', 'crd', '--all']);
  await must(controlPlane, ['apply', '-f', join(projectDirectory(), 'deploy/base/opt-in-mistake.yaml')]);
  // The API server compiles a policy, and takes note of its binding, a moment later.
  await eventually(
    'the policy warns',
    async () => (await warnings(workload('apps/v1', 'Deployment', ON))) !== '',
  );
});

afterAll(async () => {
  api?.disconnect();
  await controlPlane?.stop();
});

/** A workload with these annotations on itself, and these on its pods. */
function workload(apiVersion: string, kind: string, own: JsonObject, pod: JsonObject = {}): JsonObject {
  const labels = { app: 'web' };
  const spec = {
    restartPolicy: apiVersion === 'batch/v1' ? 'Never' : 'Always',
    containers: [{ name: 'a', image: 'a' }],
  };
  const template = { metadata: { labels, annotations: pod }, spec };
  const selector = kind === 'ReplicationController' ? labels : { matchLabels: labels };
  const specs: JsonObject = {
    Job: { template },
    CronJob: { schedule: '@daily', jobTemplate: { spec: { template } } },
    StatefulSet: { selector, template, serviceName: 'web' },
  };
  return {
    apiVersion,
    kind,
    metadata: { name: 'web', namespace: 'default', annotations: own },
    spec: specs[kind] ?? { selector, template },
  };
}

/** An object with a value at the path of a pod template. */
function objectAt(path: string, value: JsonObject): JsonObject {
  return path
    .replaceAll('[]', '.[]')
    .split('.')
    .reduceRight<JsonObject>((inner, key) => {
      return (key === '[]' ? [inner] : { [key === '*' ? 'Worker' : key]: inner }) as JsonObject;
    }, value);
}

/** The kinds as an API server without their operators knows them: with any fields. */
const CRDS = CUSTOM_KINDS.map(({ kind, group }) => ({ kind, group, plural: `${kind.toLowerCase()}s` })).map(
  ({ kind, group, plural }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // For groups of the Kubernetes project.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      names: { kind, plural },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }),
);

/** What kubectl would print to whoever creates it. */
async function warnings(object: JsonObject): Promise<string> {
  const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
  const root = apiVersion === 'v1' ? '/api' : '/apis';
  const { namespace } = object.metadata as JsonObject;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const path = `${root}/${apiVersion}${scope}/${kind.toLowerCase()}s?dryRun=All`;
  const { message, warnings } = await api.call('POST', path, object);
  expect(message).toBe('');
  return warnings.map((text) => `Warning: ${text}\n`).join('');
}

const KINDS = [
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'StatefulSet'],
  ['apps/v1', 'DaemonSet'],
  ['apps/v1', 'ReplicaSet'],
  ['batch/v1', 'Job'],
  ['batch/v1', 'CronJob'],
  ['v1', 'ReplicationController'],
] as const;

test.each(KINDS)(
  'the opt-in on a workload itself gets the warning of check: %s %s',
  async (apiVersion, kind) => {
    const object = workload(apiVersion, kind, ON);
    const [site] = podSites(object);
    const [mistake] = site ? optInMistakes(site, keysFor()) : [];
    expect(await warnings(object)).toBe(`Warning: ${BY_POLICY}: ${mistake}\n`);
  },
);

test.each(CUSTOM_KINDS.map(({ group, kind, paths }) => [`${group}/v1`, kind, paths] as const))(
  'the opt-in on a custom workload itself gets the warning of check: %s %s',
  async (apiVersion, kind, paths) => {
    const custom = (own: JsonObject, pod: JsonObject): JsonObject => ({
      apiVersion,
      kind,
      metadata: { name: 'web', namespace: 'default', annotations: own },
      ...objectAt(paths[0] ?? '', { metadata: { annotations: pod }, spec: {} }),
    });
    const [site] = podSites(custom(ON, {}));
    const [mistake] = site ? optInMistakes(site, keysFor()) : [];
    expect(mistake).toContain(`of the ${kind} itself`);
    expect(await warnings(custom(ON, {}))).toContain(`: ${mistake}\n`);
    expect(await warnings(custom(ON, ON))).toBe('');
  },
);

test('the opt-in on a workload is no mistake where its pods have one too, or it is not there', async () => {
  expect(await warnings(workload('apps/v1', 'Deployment', ON, ON))).toBe('');
  expect(await warnings(workload('apps/v1', 'Deployment', {}, ON))).toBe('');
  expect(await warnings(workload('batch/v1', 'CronJob', ON, { [KEY]: 'false' }))).toBe('');
});

const NETWORK = { [NETWORK_ANNOTATION]: 'example-network' };

test('the annotation for Networks on a workload itself gets the warning of check', async () => {
  const [apiVersion, kind] = KINDS[0];
  const object = workload(apiVersion, kind, NETWORK);
  const [mistake] = [...podSites(object)].flatMap((site) => [...networkMistakes(site)]);
  expect(mistake).toContain(`of the ${kind} itself`);
  expect(await warnings(object)).toBe(`Warning: ${BY_POLICY}: ${mistake}\n`);
  expect(await warnings(workload(apiVersion, kind, NETWORK, NETWORK))).toBe('');
  expect(await warnings(workload(apiVersion, kind, {}, NETWORK))).toBe('');
});

test('the annotation for Networks among the labels of a pod is warned of, but not beside the annotation', async () => {
  const pod = (annotations: JsonObject) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', labels: NETWORK, annotations },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  });
  const [mistake] = [...podSites(pod({}))].flatMap((site) => [...networkMistakes(site)]);
  expect(mistake).toContain('is in the labels of the pod');
  expect(await warnings(pod({}))).toBe(`Warning: ${BY_POLICY}: ${mistake}\n`);
  expect(await warnings(pod(NETWORK))).toBe('');
});

const labels = ON;
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'a', image: 'a' }] },
};
const inside = (apiVersion: string, kind: string, spec: JsonObject): JsonObject => ({
  ...workload(apiVersion, kind, {}),
  spec: { ...(workload(apiVersion, kind, {}).spec as JsonObject), ...spec },
});

test.each([
  inside('batch/v1', 'CronJob', {
    jobTemplate: {
      metadata: { labels },
      spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
    },
  }),
  inside('apps/v1', 'StatefulSet', {
    volumeClaimTemplates: [
      {
        metadata: { name: 'v', labels },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  }),
  inside('jobset.x-k8s.io/v1', 'JobSet', {
    replicatedJobs: [{ name: 'a', template: { metadata: { labels }, spec: { template } } }],
  }),
])('an opt-in of another template has no effect, and is warned of: $kind', async (object) => {
  expect(await warnings(object)).toContain(
    `: ${KEY} is in the metadata of a template inside the ${object.kind}, which its pods do not inherit: move it`,
  );
});

test.each(['inbound', 'outbound'])(
  'an excluded port that is none has no effect, and is warned of, among %s ones',
  async (side) => {
    const name = `${KEY}-exclude-${side}-ports`;
    const ports = (value: string) => workload('apps/v1', 'Deployment', {}, { [name]: value });
    for (const wrong of ['http, 9100', '70000', '0'])
      expect(await warnings(ports(wrong))).toContain(
        `: annotation ${name} has a value that is no port: write`,
      );
    for (const right of ['', '22', '22,9100', '1, 65535,']) expect(await warnings(ports(right))).toBe('');
  },
);

test('the image auto is no mistake where pods need no opt-in', async () => {
  const overlay = join(projectDirectory(), 'deploy/overlays/all-pods');
  expect((await must(controlPlane, ['kustomize', overlay])).stdout).not.toContain('has the image auto');
});

const VALUE = 'is "yes": write "true" or "false"';

test('an opt-in that is neither true nor false is warned of in a pod template', async () => {
  const [apiVersion, kind] = KINDS[0];
  expect(await warnings(workload(apiVersion, kind, {}, { [KEY]: 'yes' }))).toContain(
    `: no sidecar: ${KEY} of the pod template ${VALUE}\n`,
  );
});

const pod = (value: string, namespace = 'default') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace, labels: { app: 'web' }, annotations: { [KEY]: value } },
  spec: { containers: [{ name: 'a', image: 'a' }] },
});

test('an opt-in that is neither true nor false is warned of on a pod and a Namespace, and quoted in part', async () => {
  expect(await warnings(pod('yes'))).toContain(`: no sidecar: ${KEY} of the pod ${VALUE}\n`);
  expect(await warnings(pod(`${'x'.repeat(40)}\ny`))).toContain(`of the pod is "${'x'.repeat(32)}…": write`);
  expect(await warnings(pod('\n'))).toContain('of the pod is " ": write');
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'n', labels: { [KEY]: 'yes' } },
  };
  expect(await warnings(namespace)).toContain(`: no sidecar: ${KEY} of the namespace ${VALUE}\n`);
});

test('an opt-in that is neither true nor false is warned of on a Namespace, but not beside the label', async () => {
  const annotations = { [KEY]: 'true' };
  const namespace = (labels: JsonObject) => ({
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n', labels, annotations } },
  });
  expect(await warnings(namespace({}))).toContain(
    `: ${KEY} is in the annotations of the namespace, where it has no effect: move it to the labels\n`,
  );
  expect(await warnings(namespace({ [KEY]: 'true' }))).toBe('');
});

test('an opt-in that is neither true nor false is left to the webhook in a namespace that opts in', async () => {
  const metadata = { name: 'opted-in', labels: { [KEY]: 'true' } };
  await must(
    controlPlane,
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata }),
  );
  await serviceAccount(controlPlane, 'opted-in');
  expect(await warnings(pod('yes', 'opted-in'))).toBe('');
});
