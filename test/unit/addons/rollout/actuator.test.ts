import { expect, test } from '@jest/globals';
import { podActuator } from '../../../../src/addons/rollout/actuator.ts';
import { PodMemory } from '../../../../src/addons/rollout/memory.ts';
import { observe } from '../../../../src/addons/rollout/observe.ts';
import type { RolloutPod } from '../../../../src/addons/rollout/plan/pod.ts';
import { DRAIN } from '../../../../src/injection/keys.ts';
import { ApiError } from '../../../../src/kube/api/api-error.ts';
import { type KubeObject, keyOf } from '../../../../src/kube/api/object.ts';
import { isObject } from '../../../../src/util/json.ts';
import { decideInput, OPT_IN, podWith, templateSet } from '../../../support/injection/demo.ts';
import { injectChecked } from '../../../support/injection/inject-checked.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const setOf = (cpu: string) =>
  templateSet({
    config: JSON.stringify({ containers: [{ name: 'envoy', image: 'e', resources: { requests: { cpu } } }] }),
  });

/** Asks for more cpu of a running pod. The API server answers the change with this error. */
async function resized(answer: ApiError, what: 'change' | 'undrain' = 'change') {
  const input = podWith(
    { containers: [{ name: 'app', image: 'app' }] },
    { annotations: { [OPT_IN]: 'true', ...(what === 'undrain' && { [DRAIN]: '100' }) } },
  );
  const { options } = decideInput(input, {});
  const { pod } = injectChecked(decideInput(input, { state: { set: setOf('100m') } }));
  const metadata = {
    ...(isObject(pod.metadata) ? pod.metadata : {}),
    uid: 'u',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const whole = { ...pod, metadata } as unknown as KubeObject & typeof pod;
  const observed = observe(whole, options.keys);
  if (!observed) throw new Error('the pod has no sidecar');
  const memory = new PodMemory();
  const actuator = podActuator({
    client: {
      get: async () => whole as never,
      list: () => Promise.reject(new Error('lists nothing')),
      jsonPatch(_resource, _ref, [first]) {
        // Another pod may have the name meanwhile.
        expect(first).toEqual({ op: 'test', path: '/metadata/uid', value: 'u' });
        return Promise.reject(answer);
      },
      request: () => Promise.reject(new Error('requests nothing')),
    },
    decideOptions: options,
    memory,
    configOf: () => undefined,
    setOf: () => undefined,
    now: () => NOW,
  });
  const set = setOf('200m');
  const seen: RolloutPod = {
    ...observed,
    key: keyOf(whole),
    namespace: { namespaceLabels: {} },
    isConfigStale: false,
    ...new PodMemory().recall(observed, set.hash, NOW),
  };
  const to = {
    set,
    state: 'promoted',
    canary: { namespaces: undefined, percent: 0 },
    since: 0,
    heldSince: undefined,
  } as const;
  const act = () => actuator.act({ do: what, pod: seen, to }, AbortSignal.timeout(10_000));
  const outcome = await act();
  const { verdict } = memory.recall(observed, set.hash, NOW);
  return { outcome, verdict, ...(what === 'undrain' && { again: await act() }) };
}

const notFound = (kind: string) =>
  new ApiError({ status: 404, reason: 'NotFound', message: 'not found', kind });

test('a pod is replaced by a rollout where the API server does not serve pods/resize', async () => {
  expect(await resized(notFound(''))).toEqual({
    outcome: 'left',
    verdict: {
      how: 'replace',
      why: 'Kubernetes before 1.33 cannot change cpu and memory of a running pod',
    },
  });
});

const DENIED = `admission webhook "x" denied the request: no`;
const POLICY = `pods "web" is forbidden: ValidatingAdmissionPolicy 'x' denied request: images are frozen`;
const field = [{ field: 'spec.containers[0].image', message: 'frozen' }];

test.each<[string, ConstructorParameters<typeof ApiError>[0]]>([
  ['RBAC', { status: 403, reason: 'Forbidden', message: 'cannot patch pods/resize', kind: 'pods' }],
  ['a policy without a reason', { status: 422, reason: 'Invalid', message: POLICY, kind: 'pods' }],
  ['a webhook without a code', { status: 400, reason: '', message: DENIED }],
  ['a webhook with the code of a conflict', { status: 409, reason: 'Conflict', message: DENIED }],
  ['a webhook that names a field', { status: 422, reason: 'Invalid', message: DENIED, fields: field }],
])('a pod that %s keeps from its change is refused, and tried again later', async (_, answer) => {
  expect(await resized(new ApiError(answer))).toEqual({
    outcome: 'left',
    verdict: { how: 'refused', why: answer.message, until: NOW + 60_000 },
  });
});

test('a pod with a field that cannot change while it runs is replaced by a rollout', async () => {
  const message = 'Pod "web" is invalid: spec: Forbidden: pod updates may not change fields';
  const answer = new ApiError({ status: 422, reason: 'Invalid', message, kind: 'Pod', fields: field });
  expect(await resized(answer)).toEqual({ outcome: 'left', verdict: { how: 'replace', why: message } });
});

test('the end of a drain that is denied is not tried at each step', async () => {
  const answer = new ApiError({ status: 422, reason: 'Invalid', message: POLICY, kind: 'pods' });
  expect(await resized(answer, 'undrain')).toMatchObject({ outcome: 'left', again: 'denied' });
});
