import { expect, jest, test } from '@jest/globals';
import type { Actuator } from '../../../../src/addons/rollout/actuator.ts';
import { rolloutReconcile, STEP_MS } from '../../../../src/addons/rollout/controller.ts';
import { PodMemory } from '../../../../src/addons/rollout/memory.ts';
import { setOf, statusOf, strategyOf } from '../../../support/rollout/rollout-world.ts';

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
  const pods = [{}, { isDraining: true }, { isDraining: true, isGoing: true }].map((more, i) => ({
    metadata: { name: `${i}`, namespace: 'shop', uid: `${i}` },
    observed: { key: `shop/${i}`, uid: `${i}`, ...more },
  }));
  const reconcile = reconcileWith({ pods: { list: () => pods as never }, actuator: { act } });
  expect(await reconcile('rollout', AbortSignal.timeout(10_000))).toEqual({});
  expect(act.mock.calls.map(([action]) => [action.do, action.pod.key])).toEqual([['undrain', 'shop/1']]);
});

test('a step of a rollout that takes long leaves the rest to the next, which puts drained pods back first', async () => {
  const target = {
    set: {
      ...setOf('envoy:2'),
      rollout: strategyOf('mode: in-place\nbreaker: {failures: 100, of: 100}\nperMinute: 1000'),
    },
    state: 'promoted',
    canary: { namespaces: undefined, percent: 0 },
    since: 0,
    heldSince: undefined,
  } as const;
  let now = 1_000_000_000;
  const pods = Array.from({ length: 200 }, (_, i) => ({
    metadata: { name: `pod-${i}`, namespace: 'shop', uid: `${i}` },
    observed: {
      key: `shop/pod-${i}`,
      uid: `${i}`,
      owner: { uid: `owner-${i % 100}`, kind: 'ReplicaSet' },
      node: 'node',
      ready: true,
      status: statusOf(setOf('envoy:1')),
    },
  }));
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
  const canary = { namespaces: undefined, percent: 100 };
  const promoted = {
    set: setOf('envoy:1'),
    state: 'promoted',
    canary,
    since: 0,
    heldSince: undefined,
  } as const;
  let state: 'canary' | 'halted' = 'canary';
  const bad = {
    ...{ key: 'shop/web', uid: 'web', owner: { uid: '1-a', kind: 'ReplicaSet' }, node: 'node' },
    ...{ createdAt: 1_000, ready: false, trouble: 'ErrImagePull: x', status: statusOf(set) },
  };
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
    pods: {
      list: () => [{ metadata: { name: 'web', namespace: 'shop', uid: 'web' }, observed: bad }] as never,
    },
  });
  for (let i = 0; i < 2; i += 1) await reconcile('rollout', AbortSignal.timeout(10_000));
  expect({ state, published }).toEqual({ state: 'halted', published: ['back'] });
});
