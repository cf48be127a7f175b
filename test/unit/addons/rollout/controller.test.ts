import { expect, test } from '@jest/globals';
import { rolloutReconcile, STEP_MS } from '../../../../src/addons/rollout/controller.ts';
import { PodMemory } from '../../../../src/addons/rollout/memory.ts';
import { setOf, statusOf, strategyOf } from '../../../support/rollout/rollout-world.ts';

test('a step that takes long leaves the rest to the next one, which puts drained pods back first', async () => {
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
  const reconcile = rolloutReconcile({
    history: { current: () => ({ target, promoted: target, paused: false }) },
    writer: { decide: async () => {}, published: () => undefined, publish: async () => {} },
    pods: { list: () => pods as never },
    memory: new PodMemory(),
    configIn: () => undefined,
    namespaceSettings: () => ({ namespaceLabels: {} }),
    actuator: {
      async act({ pod }) {
        drained.push(pod.key);
        now += 50;
        return 'done';
      },
    },
    events: { seen: () => {} } as never,
    metrics: { stepped: () => {}, changed: () => {} },
    log: { debug: () => {} } as never,
    now: () => now,
  });
  expect(await reconcile('rollout', AbortSignal.timeout(10_000))).toEqual({ requeueAfterMs: STEP_MS });
  expect(drained.length).toBeGreaterThan(15);
  expect(drained.length).toBeLessThan(40);
});
