import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { isSpec, PolicyController } from '../../../../src/addons/policies/controller.ts';
import { type LivePolicyObject, POLICIES } from '../../../../src/addons/policies/resources.ts';
import { keysFor } from '../../../../src/injection/keys.ts';
import type { TemplateState } from '../../../../src/injection/template/template-set.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import type { Resource } from '../../../../src/kube/api/resource.ts';
import { Store } from '../../../../src/kube/cache/store.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { templateSet } from '../../../support/injection/demo.ts';

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
  readonly serverMinor?: () => number | undefined;
  readonly unseen?: object;
}

/** A controller with an API server in memory, which accepts and logs every request. */
function controllerOf({
  state = GOOD,
  enabled = true,
  namespace = {},
  refuse = () => undefined,
  serverMinor = () => undefined,
  unseen = {},
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
  const controller = new PolicyController({
    client: client as unknown as KubeClient,
    live: { policies: { lister: stores.policies }, bindings: { lister: stores.bindings } },
    templates: () => ({ state }),
    serverMinor,
    unseen: () => unseen,
    compile: {
      keys: keysFor(),
      requireAnnotation: true,
      operatorNamespace: 'envoy-initializer',
      name: NAME,
      alone: false,
    },
    enabled,
    log: pino({ level: 'silent' }),
    kept: (count) => kept.push(count),
  });
  return {
    calls,
    kept,
    stores,
    async reconcile() {
      calls.length = 0;
      await controller.reconcile(new AbortController().signal);
      return [...calls];
    },
  };
}

function object(name: string): LivePolicyObject {
  return { metadata: { name }, spec: {} };
}

describe('PolicyController', () => {
  test('writes each policy before its binding, and nothing twice', async () => {
    const { reconcile, kept } = controllerOf();
    expect(await reconcile()).toEqual(ALL.map((each) => `apply ${each}`));
    expect(await reconcile()).toEqual([]);
    expect(kept).toEqual([2, 2]);
  });

  test('deletes only its own objects if policies are off, bindings first', async () => {
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

  test('keeps the policies of the last valid template while the template is invalid', async () => {
    const { reconcile, stores } = controllerOf({ state: { fault: 'bad' } });
    stores.policies.set(object(NAME));
    expect(await reconcile()).toEqual([]);
  });

  test('deletes all policies if the API server rejects one', async () => {
    const refuse = (name: string) =>
      name === NAME
        ? undefined
        : new ApiError({ status: 422, reason: 'Invalid', message: 'no such function' });
    const { reconcile, stores, kept } = controllerOf({ refuse });
    await reconcile();
    expect([...stores.policies.list(), ...stores.bindings.list()]).toEqual([]);
    expect(kept).toEqual([0]);
    // Its own writes wake it.
    expect(await reconcile()).toEqual([]);
  });
});

describe('isSpec', () => {
  const written = { policyName: 'a', matchResources: { namespaceSelector: { matchExpressions: [] } } };

  test('accepts the defaults of the API server', () => {
    const filled = { matchPolicy: 'Equivalent', objectSelector: {}, ...written.matchResources };
    expect(isSpec({ ...written, matchResources: filled }, written)).toBe(true);
    expect(isSpec({ ...written, matchResources: { ...filled, matchPolicy: 'Exact' } }, written)).toBe(false);
  });

  test('does not accept additions of others', () => {
    expect(isSpec({ policyName: 'a', paramRef: {} }, { policyName: 'a' })).toBe(false);
  });
});
