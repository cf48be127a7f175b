import { expect, test } from '@jest/globals';
import { isObject } from '../../../src/json/json.ts';
import { ApiError } from '../../../src/kube/api/api-error.ts';
import { type KubeObject, keyOf } from '../../../src/kube/api/object.ts';
import { Actuator } from '../../../src/rollout/actuator.ts';
import type { RolloutPod } from '../../../src/rollout/core/pod.ts';
import { claimed, PodMemory } from '../../../src/rollout/memory.ts';
import { observe } from '../../../src/rollout/observe.ts';
import { decideInput, OPT_IN, podWith, templateSet } from '../../support/injection/demo.ts';
import { injectChecked } from '../../support/injection/inject-checked.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const setOf = (cpu: string) =>
  templateSet({
    config: JSON.stringify({ containers: [{ name: 'envoy', image: 'e', resources: { requests: { cpu } } }] }),
  });

/** Asks for more cpu of a running pod. The API server answers the change with this error. */
async function resized(answer: ApiError) {
  const input = podWith(
    { containers: [{ name: 'app', image: 'app' }] },
    { annotations: { [OPT_IN]: 'true' } },
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
  const actuator = new Actuator({
    client: {
      get: async () => whole as never,
      list: () => Promise.reject(new Error('lists nothing')),
      jsonPatch: () => Promise.reject(answer),
      request: () => Promise.reject(new Error('requests nothing')),
    },
    decide: options,
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
    ...claimed(observed, NOW),
  };
  const to = {
    set,
    state: 'promoted',
    canary: { namespaces: undefined, percent: 0 },
    since: 0,
    heldSince: undefined,
  } as const;
  const outcome = await actuator.act({ do: 'change', pod: seen, to }, AbortSignal.timeout(10_000));
  return { outcome, verdict: memory.recall(observed, set.hash, NOW).verdict };
}

const notFound = (kind: string) =>
  new ApiError({ status: 404, reason: 'NotFound', message: 'not found', kind });

test('a pod must be replaced where the API server does not serve pods/resize', async () => {
  expect(await resized(notFound(''))).toEqual({
    outcome: 'left',
    verdict: {
      how: 'replace',
      why: 'this Kubernetes cannot change cpu and memory of a running pod: 1.33 can',
    },
  });
});

test.each([
  [403, 'Forbidden'],
  [400, 'BadRequest'],
])('a pod that the API server refuses to change with %d is tried again later', async (status, reason) => {
  const why = 'the account cannot patch pods/resize';
  expect(await resized(new ApiError({ status, reason, message: why, kind: 'pods' }))).toEqual({
    outcome: 'left',
    verdict: { how: 'refused', why, until: NOW + 60_000 },
  });
});

test('a pod that was deleted meanwhile is gone', async () => {
  expect(await resized(notFound('pods'))).toEqual({ outcome: 'gone', verdict: undefined });
});
