import { expect, jest, test } from '@jest/globals';
import type { Actuator } from '../../../../src/addons/rollout/actuator.ts';
import { rolloutReconcile, STEP_MS } from '../../../../src/addons/rollout/controller.ts';
import { PodMemory } from '../../../../src/addons/rollout/memory.ts';
import type { Revision } from '../../../../src/addons/rollout/plan/revision.ts';
import type { TemplateSet } from '../../../../src/injection/template/template-set.ts';
import { setOf, statusOf, strategyOf } from '../../../support/rollout/rollout-world.ts';

const promotedOf = (set: TemplateSet): Revision => {
  const canary = { namespaces: undefined, percent: 100 };
  return { set, state: 'promoted', canary, since: 0, heldSince: undefined };
};

const podOf = (uid: string, more: object) => ({
  metadata: { name: uid, namespace: 'shop', uid },
  observed: {
    key: `shop/${uid}`,
    uid,
    node: 'node',
    ready: true,
    status: statusOf(setOf('envoy:1')),
    ...more,
  },
});

const reconcileWith = (options: Partial<Parameters<typeof rolloutReconcile>[0]>) =>
  rolloutReconcile({
    history: { adopted: () => setOf('envoy:1'), current: () => undefined },
    pods: { list: () => [] },
    writer: { decide: async () => {}, published: () => undefined, publish: async () => {} },
    memory: new PodMemory(),
    configIn: () => undefined,
    namespaceSettings: () => ({ namespaceLabels: {} }),
    actuator: { act: async () => 'done' },
    events: { seen: () => {} } as never,
    metrics: { stepped: () => {}, changed: () => {} },
    log: { debug: () => {} } as never,
    now: () => 2_000,
    ...options,
  });

test('pods that a rollout has drained return to their Services also after its strategy was removed', async () => {
  const act = jest.fn<Actuator['act']>(async () => 'later');
  const states = [{}, { isDraining: true }, { isDraining: true, isGoing: true }];
  const pods = states.map((more, i) => podOf(`${i}`, more));
  const reconcile = reconcileWith({ pods: { list: () => pods as never }, actuator: { act } });
  expect(await reconcile('rollout', AbortSignal.timeout(10_000))).toEqual({});
  expect(act.mock.calls.map(([action]) => [action.do, action.pod.key])).toEqual([['undrain', 'shop/1']]);
});

test('a drained pod that may not return is not asked for again before its time', async () => {
  const act = jest.fn<Actuator['act']>(async () => 'later');
  const [memory, pod] = [new PodMemory(), podOf('a', { isDraining: true })];
  memory.judged('a', setOf('envoy:1').hash, { how: 'refused', why: 'forbidden' }, 2_000);
  const reconcile = reconcileWith({ pods: { list: () => [pod] as never }, memory, actuator: { act } });
  expect(await reconcile('rollout', AbortSignal.timeout(10_000))).toEqual({ requeueAfterMs: 60_000 });
  expect(act).not.toHaveBeenCalled();
});

test('a rollout evicts no other pod of a workload while the replacement of the last one does not exist', async () => {
  const target = promotedOf({
    ...setOf('envoy:2', '[--new]'),
    rollout: strategyOf('mode: in-place-or-replace'),
  });
  const [memory, act] = [new PodMemory(), jest.fn<Actuator['act']>(async () => 'done')];
  const pods = ['a', 'b', 'c'].map((uid) => podOf(uid, { owner: { uid: 'web', kind: 'StatefulSet' } }));
  let now = 1_000;
  const reconcile = reconcileWith({
    history: { adopted: () => target.set, current: () => ({ target, promoted: target, paused: false }) },
    pods: { list: () => pods as never },
    ...{ memory, actuator: { act }, now: () => now },
  });
  await reconcile('rollout', AbortSignal.timeout(10_000));
  now = 2_000;
  for (const [{ pod }] of act.mock.calls) memory.evicted(pod, now);
  memory.removed(pods.shift()?.observed as never, now);
  now = 600_000;
  await reconcile('rollout', AbortSignal.timeout(10_000));
  expect(act.mock.calls.map(([{ do: what, pod }]) => [what, pod.uid])).toEqual([['evict', 'a']]);
});

test('a step of a rollout that takes long leaves the rest to the next, which puts drained pods back first', async () => {
  const rollout = strategyOf('mode: in-place\nbreaker: {failures: 100, of: 100}\nperMinute: 1000');
  const target = promotedOf({ ...setOf('envoy:2'), rollout });
  let now = 1_000_000_000;
  const pods = Array.from({ length: 200 }, (_, i) =>
    podOf(`${i}`, { owner: { uid: `owner-${i % 100}`, kind: 'ReplicaSet' } }),
  );
  const drained: string[] = [];
  const reconcile = reconcileWith({
    history: { adopted: () => target.set, current: () => ({ target, promoted: target, paused: false }) },
    pods: { list: () => pods as never },
    actuator: {
      async act({ pod }) {
        drained.push(pod.key);
        now += 50;
        return 'done';
      },
    },
    now: () => now,
  });
  expect(await reconcile('rollout', AbortSignal.timeout(10_000))).toEqual({ requeueAfterMs: STEP_MS });
  expect(drained.length).toBeGreaterThan(15);
  expect(drained.length).toBeLessThan(40);
});

test('a step of a rollout that halts publishes no status: whether pods go back, the next one says', async () => {
  const rollout = strategyOf('mode: in-place\nbreaker: {failures: 1, of: 1, then: back}');
  const set = { ...setOf('envoy:2'), rollout };
  const promoted = promotedOf(setOf('envoy:1'));
  let state: 'canary' | 'halted' = 'canary';
  const owner = { uid: '1-a', kind: 'ReplicaSet' };
  const failed = { createdAt: 1_000, ready: false, trouble: 'ErrImagePull: x', status: statusOf(set) };
  const published: string[] = [];
  const reconcile = reconcileWith({
    history: {
      adopted: () => set,
      current: () => ({ target: { ...promoted, set, state }, promoted, paused: false }),
    },
    writer: {
      async decide() {
        state = 'halted';
      },
      published: () => undefined,
      publish: async (text) => void published.push(JSON.parse(text).phase),
    },
    pods: { list: () => [podOf('web', { owner, ...failed })] as never },
  });
  for (let i = 0; i < 2; i += 1) await reconcile('rollout', AbortSignal.timeout(10_000));
  expect({ state, published }).toEqual({ state: 'halted', published: ['back'] });
});
