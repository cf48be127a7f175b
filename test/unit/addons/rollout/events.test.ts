import { expect, test } from '@jest/globals';
import { type RolloutEvents, rolloutEvents } from '../../../../src/addons/rollout/events.ts';
import type { Revisions } from '../../../../src/addons/rollout/plan/revision.ts';
import type { Step } from '../../../../src/addons/rollout/plan/step.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { type EventDetails, eventObject, seriesKey } from '../../../../src/kube/events/events.ts';
import { setOf, strategyOf } from '../../../support/rollout/rollout-world.ts';

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'op', name: 'template' } };
const revisionOf = (hash: string) => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { namespace: 'op', name: hash.slice(0, 12) },
});

/** What a rollout of an image tells when it halts. */
function halted(recorder: RolloutEvents, image: string, pod: string, breaker?: string): void {
  const failing = [{ pod: { key: pod }, why: `ErrImagePull: ${image}` }];
  const step = { phase: 'halted', decision: { do: 'halt' }, health: { failing }, pods: [] };
  const rollout = breaker && { rollout: strategyOf(`mode: in-place\nbreaker: ${breaker}`) };
  const target = { set: { ...setOf(image), ...rollout }, state: 'canary', since: 0, heldSince: undefined };
  recorder.seen(
    { phase: 'canary', health: { failing: [] }, pods: [] } as unknown as Step,
    { target } as Revisions,
    0,
  );
  recorder.seen(step as unknown as Step, { target } as Revisions, 0);
}

test('each halt of a rollout has an Event of its own, with its pods', () => {
  const told: { readonly regarding: KubeObject; readonly details: EventDetails }[] = [];
  const recorder = rolloutEvents(
    { event: (regarding, details) => void told.push({ regarding, details }) },
    () => configMap,
    revisionOf,
  );
  halted(recorder, 'envoy:2', 'shop/web-1');
  halted(recorder, 'envoy:3', 'shop/web-2');
  halted(recorder, 'envoy:3', 'shop/web-3', '{failures: 1}');
  halted(recorder, 'envoy:3', 'shop/web-4', '{failures: 2}');
  expect(told.map(({ details: { reason, note } }) => ({ reason, note }))).toEqual([
    { reason: 'RolloutHalted', note: expect.stringContaining('shop/web-1: ErrImagePull: envoy:2') },
    { reason: 'RolloutHalted', note: expect.stringContaining('shop/web-2: ErrImagePull: envoy:3') },
    {
      reason: 'RolloutHalted',
      note: 'The breaker has stopped the rollout. Failing: shop/web-3: ErrImagePull: envoy:3',
    },
    {
      reason: 'RolloutHalted',
      note: 'The breaker has stopped the rollout: no other pod of the failing canary can change. Failing: shop/web-4: ErrImagePull: envoy:3',
    },
  ]);
  const source = { controller: 'envoy-initializer', instance: 'pod' };
  const keys = told.map(({ regarding, details }) =>
    seriesKey(eventObject(regarding, details, source, new Date(0)), details),
  );
  expect(new Set(keys).size).toBe(4);
});

test('the first pod that is refused, and that waits for a minute, has an Event once for each template', () => {
  const told: EventDetails[] = [];
  const recorder = rolloutEvents(
    { event: (_, details) => void told.push(details) },
    () => configMap,
    revisionOf,
  );
  const refused = (pod: string) => ({
    pod: { key: pod },
    is: 'refused',
    why: 'refused',
    message: 'cannot patch pods/resize',
  });
  const seen = (image: string, ...pods: readonly object[]) =>
    recorder.seen(
      { phase: 'rest', health: { failing: [] }, pods } as unknown as Step,
      { target: { set: setOf(image), state: 'promoted' } } as Revisions,
      60_000,
    );
  seen('envoy:2', { pod: { key: 'shop/web-0' }, is: 'refused', why: 'unknown-template' });
  seen('envoy:2', refused('shop/web-1'), refused('shop/web-2'));
  seen('envoy:2', refused('shop/web-2'));
  seen('envoy:3', refused('shop/web-2'));
  expect(told).toMatchObject([
    {
      type: 'Warning',
      reason: 'RolloutRefused',
      note: '2 pods cannot get the template. shop/web-1: cannot patch pods/resize',
    },
    { reason: 'RolloutRefused', note: '1 pod cannot get the template. shop/web-2: cannot patch pods/resize' },
  ]);
  told.length = 0;
  const waits = (since: number) => ({
    pod: { key: 'shop/db', blocked: { since, why: 'a budget' } },
    is: 'waiting',
  });
  seen('envoy:3', waits(1));
  expect(told).toEqual([]);
  for (let i = 0; i < 2; i += 1) seen('envoy:3', waits(1), waits(0));
  expect(told).toMatchObject([
    { type: 'Warning', reason: 'RolloutWaits', note: '1 pod cannot be changed yet. shop/db: a budget' },
  ]);
});
