import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isCanary } from '../../../src/injection/template/strategy.ts';
import { runCli } from '../../../src/program.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { OPERATOR_NAMESPACE, type Operator } from '../../env/operator.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { FOR_THE_WEBHOOK } from '../../support/cluster/admission-load.ts';
import { podReview } from '../../support/injection/admission-review.ts';
import { templateSet } from '../../support/injection/demo.ts';
import { MINOR } from '../../support/jest/since.ts';
import { HttpsClient } from '../../support/kube/https-client.ts';
import {
  type OperatorFixture,
  startOperatorFixture,
  startSecondReplica,
} from '../../support/operator/operator-fixture.ts';
import { testWithControllerManager } from '../../support/operator/test-with-controller-manager.ts';

const ACCOUNT = `system:serviceaccount:${OPERATOR_NAMESPACE}:envoy-initializer`;

/** Gives the operator what deploy/components/rollout adds; resolves when RBAC and the fence let it write revisions. */
async function addRolloutRights({ controlPlane, kubectl }: OperatorFixture): Promise<void> {
  const file = (name: string) => join(projectDirectory(), 'deploy/components/rollout', name);
  const fence = ['--type=json', `--patch-file=${file('fence.yaml')}`];
  await kubectl('patch', 'validatingadmissionpolicy', 'envoy-initializer-fence', ...fence);
  await kubectl('apply', '-f', file('rbac.yaml'));
  const revision = JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: { name: 'envoy-initializer-probe', namespace: OPERATOR_NAMESPACE },
    revision: 1,
    data: {},
  });
  await eventually('the operator may write revisions', async () => {
    const args = ['create', '--dry-run=server', `--as=${ACCOUNT}`, '--filename=-'];
    return (await controlPlane.kubectl(args, { input: revision })).stdout.includes('created');
  });
}

const KEY = 'initializer.kubernetes.io/envoy';
const POLICY = 'envoy.initializer.kubernetes.io';
const STRATEGY = `mode: in-place
canary: {namespaces: {env: staging}, percent: 50, hold: 1h}
`;
const CANARY = { namespaces: { env: 'staging' }, percent: 50 };
const OWNERS = ['00000000', '4fffffff', '7fffffff', '80000000', '80000001', 'ffffffff'].map(
  (start) => `${start}${randomUUID().slice(8)}`,
);

let fixture: OperatorFixture;
let second: Operator;
const template = (image: string) => `containers: [{name: envoy, image: "${image}"}]`;

beforeAll(async () => {
  fixture = await startOperatorFixture({ args: ['--policy=auto'] });
  await addRolloutRights(fixture);
  for (const [name, labels] of [
    ['shop', {}],
    ['staging', { env: 'staging' }],
  ] as const)
    await fixture.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  second = await startSecondReplica(fixture, '--policy=auto');
}, 300_000);

afterAll(() => fixture.stop());

/** Writes the ConfigMap; returns the warnings of kubectl. */
async function write(image: string, more: Record<string, string | null> = {}, ...args: string[]) {
  const data = { config: template(image), rollout: STRATEGY, ...more };
  const patch = ['--type=merge', '--patch', JSON.stringify({ data }), ...args];
  const { stderr } = await fixture.controlPlane.kubectl(
    ['patch', 'configmap', 'envoy-initializer', `--namespace=${OPERATOR_NAMESPACE}`, ...patch],
    { input: '' },
  );
  return stderr;
}

interface RevisionObject {
  readonly data: unknown;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Record<string, string>;
    readonly ownerReferences: unknown;
  };
}

async function revisions(): Promise<readonly RevisionObject[]> {
  const text = await fixture.kubectl('get', 'controllerrevisions', `-n=${OPERATOR_NAMESPACE}`, '-o=json');
  return JSON.parse(text).items;
}

const states = async () =>
  (await revisions())
    .map(({ metadata }) => metadata.labels?.['initializer.kubernetes.io/revision-state'])
    .sort();

function podOf(namespace: string, owner: string, annotations: Record<string, string> = {}) {
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: owner, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'web-',
      namespace,
      labels: { [KEY]: 'true' },
      annotations,
      ownerReferences: [controller],
    },
    spec: { containers: [{ name: 'app', image: 'busybox' }] },
  };
}

function replicaSet(name: string, replicas: number) {
  const labels = { app: name, [KEY]: 'true' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'busybox' }] } };
  const spec = { replicas, selector: { matchLabels: { app: name } }, template };
  return { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name, namespace: 'shop' }, spec };
}

/** The image of the sidecar that the API server gives a pod in a dry run. */
async function admitted(namespace: string, owner: string, annotations = {}): Promise<string | undefined> {
  const { stdout, stderr } = await fixture.controlPlane.kubectl(
    ['create', '--dry-run=server', '-o', 'json', '-f', '-'],
    { input: JSON.stringify(podOf(namespace, owner, annotations)) },
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).spec.containers.find(({ name }: { name: string }) => name === 'envoy')?.image;
}

/** The image that one replica gives, asked directly. */
async function answered({ webhookUrl }: Operator, namespace: string, owner: string) {
  const client = new HttpsClient(Number(new URL(webhookUrl).port), fixture.operator.caPem);
  const object = podOf(namespace, owner);
  const { body } = await client.call('/inject', JSON.stringify(podReview({ namespace, object, name: '' })));
  client.disconnect();
  const patch = Buffer.from(JSON.parse(body).response.patch ?? '', 'base64').toString();
  return /"image":"([^"]+)"/.exec(patch)?.[1];
}

/** Waits until both replicas and the policies, which the API server takes over a moment later, give these images. */
async function everywhere(expected: (namespace: string, owner: string) => string): Promise<void> {
  const pods = ['shop', 'staging'].flatMap((namespace) => OWNERS.map((owner) => [namespace, owner] as const));
  const wanted = pods.map((pod) => expected(...pod));
  let got: unknown;
  const agree = (ask: (namespace: string, owner: string) => Promise<string | undefined>) => async () => {
    got = await Promise.all(pods.map((pod) => ask(...pod)));
    return JSON.stringify(got) === JSON.stringify(wanted);
  };
  for (const ask of [
    (...pod: readonly [string, string]) => answered(fixture.operator, ...pod),
    (...pod: readonly [string, string]) => answered(second, ...pod),
    // The policies inject those that they can, the webhook the others.
    (...pod: readonly [string, string]) => admitted(...pod),
    (...pod: readonly [string, string]) => admitted(...pod, FOR_THE_WEBHOOK),
  ]) {
    await eventually('all agree', agree(ask)).catch(() => {});
    expect(got).toEqual(wanted);
  }
}

/** The images in the policy for pods that opt in themselves. */
async function imagesOfPolicy(): Promise<readonly string[]> {
  const policy = await fixture.kubectl('get', 'mutatingadmissionpolicy', POLICY, '-o=json');
  return [...new Set([...policy.matchAll(/envoy:\d/g)].map(([image]) => image))];
}

/** Types `envoy-initializer rollout` with these arguments. */
async function rolloutCommand(...args: readonly string[]) {
  const flags = [
    `--kubeconfig=${fixture.controlPlane.kubeconfigPath}`,
    `--operator-namespace=${OPERATOR_NAMESPACE}`,
  ];
  const terminal = new MemoryTerminal();
  const code = await runCli(['node', 'envoy-initializer', 'rollout', ...args, ...flags], terminal);
  return { code, out: terminal.stdout };
}

testWithControllerManager(
  'the commands show what a template would do to a rollout, and kubectl apply says it in one line',
  async () => {
    await write('envoy:1');
    await eventually('a revision is promoted', async () => (await states()).join() === 'promoted');
    await fixture.kubectl('wait', '--for=create', 'serviceaccount/default', '-n=shop', '--timeout=30s');
    await everywhere(() => 'envoy:1');
    await fixture.apply(replicaSet('cart', 2), replicaSet('web', 1));
    await eventually('the pods are there', async () => {
      const pods = await fixture.kubectl('get', 'pods', '-n=shop', '-o=name');
      return pods.trim().split('\n').length === 3;
    });
    const data = { config: template('envoy:2'), rollout: `${STRATEGY}singleReplica: change\n` };
    await eventually('the cache of the operator has the pods', async () =>
      (await write('envoy:2', data, '--dry-run=server')).includes(
        'rollout to 3 pods with a sidecar (metadata estimate): 3 in place',
      ),
    );
    // The canary of later tests must not grow for these workloads, whose UIDs differ in each run.
    await fixture.kubectl('delete', 'replicaset', '--all', '-n=shop');
    await eventually(
      'their pods are gone',
      async () => (await fixture.kubectl('get', 'pods', '-n=shop', '-o=name')) === '',
    );
  },
);

test('rollout pause and resume set an annotation', async () => {
  const phaseIs = (phase: string) =>
    eventually(`the phase is ${phase}`, async () =>
      new RegExp(`^phase +${phase}$`, 'm').test((await rolloutCommand()).out),
    );
  await phaseIs('done');
  expect(await rolloutCommand('pause')).toMatchObject({ code: 0, out: 'rollout paused\n' });
  await phaseIs('paused');
  expect(await rolloutCommand('resume')).toMatchObject({ code: 0, out: 'rollout resumed\n' });
  await phaseIs('done');
  expect(await rolloutCommand('stop')).toMatchObject({ code: 2 });
});

test('the templates of new pods are those of the first revision, which outlives the ConfigMap', async () => {
  await write('envoy:1');
  await eventually('a revision is promoted', async () => (await states()).join() === 'promoted');
  expect((await revisions())[0]?.metadata.ownerReferences).toBeUndefined();
  await everywhere(() => 'envoy:1');
});

test('the templates of new pods stay the promoted ones outside of the canary, also in the policy', async () => {
  await write('envoy:2');
  await eventually('the canary has begun', async () => (await states()).join() === 'canary,promoted');
  const labels = (namespace: string) => (namespace === 'staging' ? { env: 'staging' } : {});
  await everywhere((namespace, owner) =>
    isCanary(CANARY, labels(namespace), owner) ? 'envoy:2' : 'envoy:1',
  );
  if (MINOR >= 36) expect(await imagesOfPolicy()).toEqual(['envoy:1']);
});

test('the templates of all new pods are the promoted ones once the template is back, without a canary', async () => {
  await write('envoy:1');
  await eventually(
    'the other one is superseded',
    async () => (await states()).join() === 'promoted,superseded',
  );
  await everywhere(() => 'envoy:1');
});

test('the templates of new pods are the new ones once the hold of a rollout is over', async () => {
  await write('envoy:3', { rollout: STRATEGY.replace(', hold: 1h', '') });
  await eventually('it is promoted', async () => (await states()).join() === 'promoted,promoted,superseded');
  await everywhere(() => 'envoy:3');
});

test.each([
  [
    'has their name',
    'envoy:5',
    { 'initializer.kubernetes.io/revision-state': 'promoted' },
    template('forged'),
  ],
  ['has lost its state', 'envoy:6', {}, template('envoy:6')],
])('the templates of new pods are kept although a revision %s', async (_, image, labels, config) => {
  const { hash } = templateSet({ config: template(image) });
  const name = `envoy-initializer-${hash.slice(0, 12)}`;
  const metadata = { name, namespace: OPERATOR_NAMESPACE, labels };
  await fixture.apply({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata,
    data: { config },
    revision: 99,
  });
  await write(image, { rollout: STRATEGY.replace(', hold: 1h', '') });
  await eventually('they are promoted under their name', async () => {
    const revision = (await revisions()).find((each) => each.metadata.name === name);
    const state = revision?.metadata.labels?.['initializer.kubernetes.io/revision-state'];
    return (
      state === 'promoted' && JSON.stringify(revision?.data) === JSON.stringify({ config: template(image) })
    );
  });
});

test('the templates of new pods are those of the ConfigMap at once without a strategy', async () => {
  await write('envoy:4', { rollout: null });
  await everywhere(() => 'envoy:4');
});

testWithControllerManager(
  'a pod that opts out later is refused, and rollout --watch ends without it',
  async () => {
    const rollout = 'mode: in-place\nsingleReplica: change\n';
    await write('envoy:4', { rollout });
    await everywhere(() => 'envoy:4');
    await fixture.kubectl('wait', '--for=create', 'serviceaccount/default', '-n=shop', '--timeout=30s');
    const { metadata, ...rest } = podOf('shop', randomUUID());
    const { generateName: _, ownerReferences: __, ...lone } = metadata;
    await fixture.apply({ ...rest, metadata: { ...lone, name: 'lone' } });
    await fixture.kubectl('label', 'pod/lone', '--namespace=shop', '--overwrite', `${KEY}=false`);
    await write('envoy:7', { rollout });
    expect(await rolloutCommand('--watch')).toEqual({
      code: 0,
      out: expect.stringMatching(
        /^phase +done\n.*\npods +1: 1 refused\n +refused +1 +the new template does not fit/ms,
      ),
    });
  },
);
