import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Actuator, podActuator } from '../../../src/addons/rollout/actuator.ts';
import { PodMemory } from '../../../src/addons/rollout/memory.ts';
import { observe, observedPods } from '../../../src/addons/rollout/observe.ts';
import type { Action, RolloutPod } from '../../../src/addons/rollout/plan/pod.ts';
import type { Revision } from '../../../src/addons/rollout/plan/revision.ts';
import { keysFor } from '../../../src/injection/keys.ts';
import { parseStatus } from '../../../src/injection/status.ts';
import type { TemplateSet } from '../../../src/injection/template/template-set.ts';
import { isOvertaken, isRefused } from '../../../src/kube/api/api-error.ts';
import { PODS } from '../../../src/kube/api/core-resources.ts';
import type { KubeObject } from '../../../src/kube/api/object.ts';
import type { JsonObject } from '../../../src/util/json.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { eventually } from '../../env/eventually.ts';
import { must, serviceAccountKubeconfig } from '../../env/operator.ts';
import { decideInput, OPT_IN, STATUS, templateSet } from '../../support/injection/demo.ts';
import { injectChecked } from '../../support/injection/inject-checked.ts';
import { since } from '../../support/jest/since.ts';
import { type ApiAccess, connect } from '../../support/operator/api-access.ts';

/** A policy without a reason that denies other images to the pods for which a CEL expression is true, with its binding. */
function frozenImages(name: string, expression: string): readonly JsonObject[] {
  const of = (kind: string, spec: JsonObject): JsonObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    spec,
  });
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['UPDATE'] };
  const same = 'object.spec.containers.all(c, oldObject.spec.containers.exists(o, o.image == c.image))';
  return [
    of('ValidatingAdmissionPolicy', {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: 'its-pods', expression }],
      validations: [{ expression: same, message: 'images are frozen' }],
    }),
    of('ValidatingAdmissionPolicyBinding', { policyName: name, validationActions: ['Deny'] }),
  ];
}

const KEYS = keysFor();
const NOW = Date.parse('2026-01-01T00:00:00Z');
const DRAIN = 'initializer.kubernetes.io/drain';

let controlPlane: ControlPlane;
let operator: ApiAccess;
let memory: PodMemory;
let actuator: Actuator;
let now = NOW;

const admin = async (args: string, input?: unknown) =>
  (await must(controlPlane, args.split(' '), input === undefined ? '' : JSON.stringify(input))).stdout;

function set(
  image = 'envoyproxy/envoy:v1',
  resources: JsonObject = { requests: { cpu: '100m' } },
): TemplateSet {
  const drain = [{ path: 'drain', fieldRef: { fieldPath: `metadata.annotations['${DRAIN}']` } }];
  const envoy = {
    name: 'envoy',
    image,
    resources,
    volumeMounts: [{ name: 'drain', mountPath: '/etc/drain' }],
    readinessProbe: { httpGet: { path: '/ready', port: 15021 } },
  };
  const volumes = [{ name: 'drain', downwardAPI: { items: drain } }];
  return templateSet({ config: JSON.stringify({ containers: [envoy], volumes }) });
}

/** Creates a pod as the webhook injects it, on a node whose kubelet has started it. */
async function running(name: string, spec: JsonObject = {}, node = 'node'): Promise<void> {
  const pod: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name }, annotations: { [OPT_IN]: 'true' } },
    spec: { nodeName: node, containers: [{ name: 'app', image: 'app' }], ...spec },
  };
  await admin('create -f -', injectChecked(decideInput(pod, { state: { set: set() } })).pod);
  await kubelet(name, 0);
}

/** Writes the status of a pod as its kubelet would. */
async function kubelet(name: string, restartCount: number, ready = true): Promise<void> {
  const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  const envoy = {
    name: 'envoy',
    image: 'envoy',
    imageID: 'e',
    ready,
    restartCount,
    started: true,
    state,
    resources: {},
  };
  const { spec } = await podOf(name);
  const native = (spec.initContainers ?? []).length > 0;
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  const status = {
    phase: 'Running',
    conditions,
    [native ? 'initContainerStatuses' : 'containerStatuses']: [envoy],
  };
  await admin(`patch pod ${name} --subresource=status --type=merge --patch ${JSON.stringify({ status })}`);
}

interface PodJson extends KubeObject {
  readonly spec: Record<
    'containers' | 'initContainers',
    { name: string; image: string; resources: object }[]
  >;
}

async function podOf(name: string): Promise<PodJson> {
  return JSON.parse(await admin(`get pod ${name} -o json`));
}

async function envoyOf(name: string): Promise<{ image: string; resources: object } | undefined> {
  const { spec } = await podOf(name);
  return [...spec.containers, ...(spec.initContainers ?? [])].find((each) => each.name === 'envoy');
}

/** The pod as a rollout sees it now. */
async function seen(name: string, to: TemplateSet): Promise<RolloutPod> {
  const pod = await operator.client.get(PODS, { namespace: 'default', name });
  const observed = observe(pod as KubeObject & JsonObject, KEYS);
  if (!observed) throw new Error(`${name} has no sidecar`);
  const recalled = memory.recall(observed, to.hash, NOW);
  return { ...observed, namespace: { namespaceLabels: {} }, isConfigStale: false, ...recalled };
}

async function act(what: Action['do'], name: string, to: TemplateSet) {
  const pod = await seen(name, to);
  const revision: Revision = {
    set: to,
    state: 'promoted',
    canary: { namespaces: undefined, percent: 0 },
    since: 0,
    heldSince: undefined,
  };
  return actuator.act({ do: what, pod, to: revision }, AbortSignal.timeout(30_000));
}

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const path = (file: string) => join(projectDirectory(), file);
  await admin(`apply -f ${path('test/env/control-plane/network-attachment-definition-crd.yaml')}`);
  await admin(`apply -k ${path('deploy/overlays/rollout')}`);
  // Here, the test injects pods itself.
  await admin('delete mutatingwebhookconfiguration,validatingwebhookconfiguration envoy-initializer');
  for (const [name, kubeletVersion] of [
    ['node', 'v1.36.3'],
    ['old', 'v1.31.14'],
  ] as const) {
    await admin('create -f -', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const room = { cpu: '8', memory: '8Gi', pods: '100' };
    const status = JSON.stringify({
      status: { nodeInfo: { kubeletVersion }, allocatable: room, capacity: room },
    });
    await admin(`patch node ${name} --subresource=status --type=merge --patch ${status}`);
  }
  const directory = join(controlPlane.directory, 'account');
  await mkdir(directory);
  operator = connect(await serviceAccountKubeconfig(controlPlane, directory));
  memory = new PodMemory();
  actuator = podActuator({
    client: operator.client,
    decideOptions: { keys: KEYS, requireAnnotation: true, operatorNamespace: 'envoy-initializer' },
    memory,
    configOf: () => 'config',
    setOf: () => set(),
    now: () => now,
  });
  await running('probe');
  await eventually('the fence lets the operator drain', async () => {
    return (await act('drain', 'probe', set('envoyproxy/envoy:v2'))) === 'done';
  });
}, 120_000);

afterAll(async () => {
  await operator?.close();
  await controlPlane?.stop();
});

test('the image of a drained pod changes once no Service sends to it, and the drain ends with the restart', async () => {
  await running('web');
  const to = set('envoyproxy/envoy:v2');
  expect(await act('drain', 'web', to)).toBe('done');
  expect(await envoyOf('web')).toMatchObject({ image: 'envoyproxy/envoy:v1' });
  await kubelet('web', 3, false);
  const { uid } = (await podOf('web')).metadata;
  const slice = (conditions: { readonly ready: boolean; readonly serving?: boolean }) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web', namespace: 'default' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions, targetRef: { kind: 'Pod', uid } }],
  });
  await admin('create -f -', slice({ ready: true }));
  expect(await act('change', 'web', to)).toBe('later');
  expect(
    memory.recall({ ...(await seen('web', to)), canDrain: true } as never, to.hash, NOW).blocked,
  ).toMatchObject({
    until: NOW + 1000,
    why: 'a Service still sends requests to it',
  });
  memory.clear();
  await admin('replace -f -', slice({ ready: false }));
  expect(await act('change', 'web', to)).toBe('done');
  expect(await envoyOf('web')).toMatchObject({ image: 'envoyproxy/envoy:v2' });
  const { annotations = {} } = (await podOf('web')).metadata;
  expect(parseStatus(annotations[STATUS])).toMatchObject({
    templates: [{ name: 'config', sha256: to.templates.get('config')?.hash }],
    at: '2026-01-01T00:00:00.000Z',
    wasReady: true,
    restarts: 3,
    configs: { envoy: 'config' },
  });
  expect(annotations[DRAIN]).toBe('100');
  expect(await act('undrain', 'web', to)).toBe('later');
  await kubelet('web', 4, false);
  expect(await act('undrain', 'web', to)).toBe('done');
  expect((await podOf('web')).metadata.annotations).not.toHaveProperty([DRAIN]);
  expect(await act('change', 'web', to)).toBe('later');
});

test('a pod that a Service publishes although it is not Ready, or that none lets go, is changed', async () => {
  const to = set('envoyproxy/envoy:v2');
  for (const [name, serving, minutes] of [
    ['published', false, 0],
    ['held', true, 2],
  ] as const) {
    await running(name);
    expect(await act('drain', name, to)).toBe('done');
    await kubelet(name, 0, false);
    const { uid } = (await podOf(name)).metadata;
    await admin('create -f -', {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: 'default' },
      addressType: 'IPv4',
      endpoints: [
        { addresses: ['10.0.0.1'], conditions: { ready: true, serving }, targetRef: { kind: 'Pod', uid } },
      ],
    });
    now += minutes * 60_000;
    expect(await act('change', name, to)).toBe('done');
    now = NOW;
  }
});

since(33).test('cpu and memory of a pod change without a drain (since 1.33)', async () => {
  await running('resized');
  const to = set('envoyproxy/envoy:v1', { requests: { cpu: '200m' }, limits: { cpu: '1' } });
  const outcome = await act('drain', 'resized', to);
  expect([outcome, (await seen('resized', to)).verdict]).toEqual(['done', undefined]);
  expect(await envoyOf('resized')).toMatchObject({
    resources: { requests: { cpu: '200m' }, limits: { cpu: '1' } },
  });
  const { annotations = {} } = (await podOf('resized')).metadata;
  expect(annotations).not.toHaveProperty([DRAIN]);
  expect(parseStatus(annotations[STATUS])).toMatchObject({ at: expect.any(String) });
  expect(parseStatus(annotations[STATUS])?.restarts).toBeUndefined();
});

test('a native sidecar changes where its kubelet restarts it', async () => {
  const to = set('envoyproxy/envoy:v2');
  await running('native', { restartPolicy: 'OnFailure' });
  expect(await act('change', 'native', to)).toBe('done');
  expect(await envoyOf('native')).toMatchObject({ image: 'envoyproxy/envoy:v2' });
  await running('native-old', { restartPolicy: 'OnFailure' }, 'old');
  expect(await act('drain', 'native-old', to)).toBe('left');
  expect((await seen('native-old', to)).verdict).toEqual({
    how: 'replace',
    why: expect.stringContaining('its node has kubelet v1.31.14'),
  });
});

test('a rollout asks the API server whether resources may change, and replaces the pod if not', async () => {
  const limits = { cpu: '100m', memory: '64Mi' };
  await running('guaranteed', { containers: [{ name: 'app', image: 'app', resources: { limits } }] });
  const to = set('envoyproxy/envoy:v2', {
    requests: { cpu: '100m' },
    limits: { 'ephemeral-storage': '1Gi' },
  });
  expect(await act('drain', 'guaranteed', to)).toBe('left');
  expect((await seen('guaranteed', to)).verdict).toMatchObject({ how: 'replace' });
  expect((await podOf('guaranteed')).metadata.annotations).not.toHaveProperty([DRAIN]);
});

test('a rollout asks the API server whether the budget allows it before it drains, restarts or evicts a pod', async () => {
  await running('budgeted');
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'budget', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'budgeted' } } },
  };
  await admin('create -f -', budget);
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
  };
  const patch = JSON.stringify({ status });
  await admin(`patch pdb budget --subresource=status --type=merge --patch ${patch}`);
  const to = set('envoyproxy/envoy:v2');
  expect(await act('drain', 'budgeted', to)).toBe('later');
  expect((await seen('budgeted', to)).blocked).toMatchObject({
    until: NOW + 10_000,
    why: 'a PodDisruptionBudget does not allow it now',
  });
  expect((await podOf('budgeted')).metadata.annotations).not.toHaveProperty([DRAIN]);
  for (const what of ['change', 'evict'] as const) {
    memory.clear();
    expect(await act(what, 'budgeted', to)).toBe('later');
  }
  memory.clear();
  await admin('create -f -', { ...budget, metadata: { ...budget.metadata, name: 'another' } });
  for (const what of ['drain', 'change', 'evict'] as const) {
    expect(await act(what, 'budgeted', to)).toBe('later');
    expect((await seen('budgeted', to)).blocked?.why).toContain('more than one PodDisruptionBudget');
    memory.clear();
  }
  await admin('delete pdb budget another');
  expect(await act('evict', 'budgeted', to)).toBe('done');
  expect((await podOf('budgeted')).metadata.deletionTimestamp).toBeDefined();
});

test('a pod that a policy denies without a reason is refused; a failed test means another writer', async () => {
  const isFrozen = "object.metadata.?labels[?'app'].orValue('') == 'frozen'";
  for (const object of frozenImages('zz-frozen', isFrozen)) await admin('create -f -', object);
  const to = set('envoyproxy/envoy:v2');
  await running('frozen');
  await eventually('the policy denies', async () => {
    const image = { op: 'replace', path: '/spec/containers/0/image', value: 'other' };
    const args = [
      'patch',
      'pod',
      'frozen',
      '--type=json',
      '--dry-run=server',
      '--patch',
      JSON.stringify([image]),
    ];
    return (await controlPlane.kubectl(args)).stderr.includes('images are frozen');
  });
  for (const what of ['drain', 'change'] as const) {
    expect(await act(what, 'frozen', to)).toBe('left');
    expect((await seen('frozen', to)).verdict).toMatchObject({
      how: 'refused',
      why: expect.stringContaining('images are frozen'),
    });
    memory.clear();
  }
  const other = [{ op: 'test', path: '/spec/containers/0/image', value: 'another' }] as const;
  const ref = { namespace: 'default', name: 'frozen' };
  const answer = await operator.client.jsonPatch(PODS, ref, other).catch((err: unknown) => err);
  expect([isOvertaken(answer), isRefused(answer)]).toEqual([true, false]);
});

test('a pod that others change, or replace by another of its name, is not changed by a rollout', async () => {
  await running('moving');
  const to = set('envoyproxy/envoy:v2');
  const pod = await seen('moving', to);
  const revision = {
    set: to,
    state: 'promoted',
    canary: { namespaces: undefined, percent: 0 },
    since: 0,
  } as const;
  const action = {
    do: 'change',
    pod: { ...pod, uid: 'other' },
    to: { ...revision, heldSince: undefined },
  } as const;
  expect(await actuator.act(action, AbortSignal.timeout(30_000))).toBe('gone');
  await admin('delete pod moving --force --grace-period=0');
  expect(await actuator.act({ ...action, pod }, AbortSignal.timeout(30_000))).toBe('gone');
});

test('what the cache keeps of a pod is what a rollout sees', async () => {
  await running('cached');
  const pod = await operator.client.get(observedPods(KEYS), { namespace: 'default', name: 'cached' });
  expect(pod.metadata).not.toHaveProperty('annotations');
  expect(pod.observed).toMatchObject({ key: 'default/cached', ready: true, canDrain: true, node: 'node' });
});
