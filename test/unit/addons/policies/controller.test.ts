import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { isSpec, policyReconcile } from '../../../../src/addons/policies/controller.ts';
import { type LivePolicyObject, POLICIES } from '../../../../src/addons/policies/resources.ts';
import { setUpPolicies } from '../../../../src/addons/policies/setup.ts';
import type { TemplateState } from '../../../../src/injection/template/template-set.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { templateSet } from '../../../support/injection/demo.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { testManager } from '../../../support/kube/test-manager.ts';
import { coreOf } from '../../../support/operator/core-of.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const NAME = 'envoy.initializer.kubernetes.io';
const GOOD: TemplateState = { set: templateSet() };
const ALL = [
  `MutatingAdmissionPolicy ${NAME}`,
  `MutatingAdmissionPolicyBinding ${NAME}`,
  `MutatingAdmissionPolicy namespace.${NAME}`,
  `MutatingAdmissionPolicyBinding namespace.${NAME}`,
];

interface World {
  readonly state?: TemplateState;
  readonly enabled?: boolean;
  readonly namespace?: object;
  /** The API server's error for a policy, by its name. */
  readonly refuse?: (name: string) => Error | undefined;
}

/** A controller with an API server in memory, which accepts and logs every request. */
function controllerOf({
  state = GOOD,
  enabled = true,
  namespace = {},
  refuse = () => undefined,
}: World = {}) {
  const stores = { policies: new Store<LivePolicyObject>(), bindings: new Store<LivePolicyObject>() };
  const storeOf = ({ kind }: Resource<KubeObject>) =>
    kind === POLICIES.kind ? stores.policies : stores.bindings;
  const calls: string[] = [];
  const kept: number[] = [];
  const client = {
    get: async () => ({ metadata: { name: 'envoy-initializer', uid: 'u', ...namespace } }),
    async apply(resource: Resource<LivePolicyObject>, { name }: { name: string }, object: LivePolicyObject) {
      calls.push(`apply ${resource.kind} ${name}`);
      const error = refuse(name);
      if (error) throw error;
      storeOf(resource).set(object);
      return object;
    },
    async jsonPatch(resource: Resource<LivePolicyObject>, { name }: { name: string }) {
      calls.push(`patch ${resource.kind} ${name}`);
    },
    async delete(resource: Resource<LivePolicyObject>, { name }: { name: string }) {
      calls.push(`delete ${resource.kind} ${name}`);
      if (!storeOf(resource).delete(name))
        throw new ApiError({ status: 404, reason: 'NotFound', message: 'gone' });
    },
  };
  const reconcile = policyReconcile(
    { leaderClient: client as unknown as KubeClient, log: pino({ level: 'silent' }) },
    coreOf({
      newPods: { forPolicies: () => ({ state, canary: undefined }) },
      serverMinor: { current: () => undefined },
      namespaces: { unseen: () => ({}) },
    }),
    { initializerName: NAME, policy: enabled ? 'auto' : 'off' },
    { policies: { lister: stores.policies }, bindings: { lister: stores.bindings } },
    (count) => kept.push(count),
  );
  return {
    calls,
    kept,
    stores,
    async reconcile() {
      calls.length = 0;
      await reconcile(new AbortController().signal);
      return [...calls];
    },
  };
}

function object(name: string): LivePolicyObject {
  return { metadata: { name }, spec: {} };
}

test('the controller of policies writes each policy before its binding, and nothing twice', async () => {
  const { reconcile, kept } = controllerOf();
  expect(await reconcile()).toEqual(ALL.map((each) => `apply ${each}`));
  expect(await reconcile()).toEqual([]);
  expect(kept).toEqual([2, 2]);
});

test('the controller of policies deletes only its own objects if policies are off, bindings first', async () => {
  const { reconcile, stores, kept } = controllerOf({ enabled: false });
  for (const name of [NAME, 'of-others']) stores.policies.set(object(name));
  for (const name of [`all.${NAME}`, NAME]) stores.bindings.set(object(name));
  expect(await reconcile()).toEqual([
    `delete MutatingAdmissionPolicyBinding all.${NAME}`,
    `delete MutatingAdmissionPolicyBinding ${NAME}`,
    `delete MutatingAdmissionPolicy ${NAME}`,
  ]);
  expect(kept).toEqual([0]);
});

test('the controller of policies keeps the policies of the last valid template while the template is invalid', async () => {
  const { reconcile, stores } = controllerOf({ state: { fault: 'bad' } });
  stores.policies.set(object(NAME));
  expect(await reconcile()).toEqual([]);
});

test('the controller of policies deletes all policies if the API server rejects one', async () => {
  const refuse = (name: string) =>
    name === NAME ? undefined : new ApiError({ status: 422, reason: 'Invalid', message: 'no such function' });
  const { reconcile, stores, kept } = controllerOf({ refuse });
  await reconcile();
  expect([...stores.policies.list(), ...stores.bindings.list()]).toEqual([]);
  expect(kept).toEqual([0]);
  // Its own writes wake it.
  expect(await reconcile()).toEqual([]);
});

const written = { policyName: 'a', matchResources: { namespaceSelector: { matchExpressions: [] } } };

test('isSpec accepts the defaults of the API server', () => {
  const filled = { matchPolicy: 'Equivalent', objectSelector: {}, ...written.matchResources };
  expect(isSpec({ ...written, matchResources: filled }, written)).toBe(true);
  expect(isSpec({ ...written, matchResources: { ...filled, matchPolicy: 'Exact' } }, written)).toBe(false);
});

test('isSpec does not accept additions of others', () => {
  expect(isSpec({ policyName: 'a', paramRef: {} }, { policyName: 'a' })).toBe(false);
});

/** Policies whose API server answers the question about them so, and, unless it does more, begins lists that do not end. */
function policiesOf(
  discovery: () => unknown,
  more = {},
  { state = { fault: 'not read yet' } as TemplateState, untilUnseen = async () => {} } = {},
) {
  const { log } = capturedLog();
  const clock = new FakeClock();
  const requests: string[] = [];
  const lists: string[] = [];
  const client = {
    async request(method: string, path: string) {
      requests.push(`${method} ${path}`);
      return discovery();
    },
    async list({ plural }: Resource<KubeObject>, { signal }: { signal: AbortSignal }) {
      lists.push(plural);
      await once(signal, 'abort');
      throw signal.reason;
    },
    ...more,
  } as unknown as KubeClient;
  const manager = testManager({ client, clock, log });
  const core = coreOf({
    newPods: { forPolicies: () => ({ state, canary: undefined }), onChanged() {} },
    serverMinor: { current: () => undefined, onChanged() {} },
    namespaces: { unseen: () => ({}), onUnseen() {}, untilUnseen },
  });
  setUpPolicies(manager, core, { initializerName: 'envoy.initializer.kubernetes.io', policy: 'auto' });
  const kept = async () =>
    (await manager.registry.getSingleMetric('envoy_initializer_policies')?.get())?.values;
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  const end = async () => {
    stop.abort(new Error('the test is over'));
    await clock.advanceAsync(0);
    await running;
  };
  return { end, requests, lists, kept, clock };
}

test('the controller of policies asks an API server that knows policies after an upgrade for them', async () => {
  let discovery: object = { resources: [{ name: 'mutatingwebhookconfigurations' }] };
  const { end, requests, lists, kept, clock } = policiesOf(() => discovery);
  await clock.advanceAsync(0);
  expect(requests).toEqual(['GET /apis/admissionregistration.k8s.io/v1']);
  expect(await kept()).toEqual([{ value: 0, labels: {} }]);
  discovery = { resources: [{ name: 'mutatingadmissionpolicies' }] };
  await clock.advanceAsync(30_000);
  expect(requests).toHaveLength(2);
  expect(lists).toEqual(['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings']);
  await end();
  expect(clock.pendingTimers).toBe(0);
});

test('the controller of policies writes none before all that they are made of is known', async () => {
  const { promise: isWhole, resolve } = Promise.withResolvers<void>();
  const applied: string[] = [];
  const server = {
    list: async () => ({ items: [], resourceVersion: '1' }),
    async *watch(_: unknown, { signal }: { signal: AbortSignal }) {
      yield* await once(signal, 'abort').then(() => []);
    },
    get: async () => ({ metadata: { name: 'envoy-initializer', uid: 'u' } }),
    async apply(_: unknown, { name }: { name: string }, object: object) {
      applied.push(name);
      return object;
    },
  };
  const discovery = { resources: [{ name: 'mutatingadmissionpolicies' }] };
  const { end, clock } = policiesOf(() => discovery, server, { state: GOOD, untilUnseen: () => isWhole });
  await clock.advanceAsync(0);
  expect(applied).toEqual([]);
  resolve();
  await clock.advanceAsync(0);
  expect(applied).toHaveLength(4);
  await end();
});
