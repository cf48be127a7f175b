import { expect, test } from '@jest/globals';
import { PodMemory } from '../../../../src/addons/rollout/memory.ts';
import type { Observed, ObservedPod } from '../../../../src/addons/rollout/observe.ts';

const UID = 'a';
const observed = (more: Partial<Observed> = {}): Observed => ({
  key: 'default/web',
  uid: UID,
  selects: undefined,
  owner: undefined,
  node: 'node',
  createdAt: 0,
  isGoing: false,
  ready: true,
  readySince: 0,
  isSidecarReady: true,
  sidecarStartedAt: 0,
  status: undefined,
  isOptedOut: false,
  endsByItself: false,
  isDraining: false,
  canDrain: true,
  trouble: undefined,
  restarts: 0,
  isRestarted: true,
  config: {},
  ...more,
});
const cached = (resourceVersion: string, restarts = 0): ObservedPod => ({
  metadata: { name: 'web', namespace: 'default', uid: UID, resourceVersion },
  observed: observed({ restarts }),
});

test.each([
  ['9', 1],
  ['10', 1],
  ['11', 2],
  ['12', 2],
  ['unknown', 2],
])('a write of a rollout is seen until the cache has it: version %s', (version, restarts) => {
  const memory = new PodMemory();
  memory.wrote(cached('11'), observed({ restarts: 1 }));
  expect(memory.newest(cached(version, 2))?.restarts).toBe(restarts);
});

test('a write of a rollout is forgotten once the cache has been newer, and with the pod', () => {
  const memory = new PodMemory();
  memory.wrote(cached('11'), observed({ restarts: 1 }));
  memory.newest(cached('12', 2));
  expect(memory.newest(cached('10', 2))?.restarts).toBe(2);
  memory.wrote(cached('13'), observed({ restarts: 1 }));
  memory.forget(UID);
  expect(memory.newest(cached('12', 2))?.restarts).toBe(2);
});

const drained = observed({ isDraining: true, ready: false });

test('a pod is drained from when it is first seen not Ready', () => {
  const memory = new PodMemory();
  expect(memory.recall(observed({ isDraining: true }), 'h', 1).drainedSince).toBeUndefined();
  expect(memory.recall(drained, 'h', 2).drainedSince).toBe(2);
  expect(memory.recall(drained, 'h', 9).drainedSince).toBe(2);
  expect(memory.recall(observed({ isDraining: true }), 'h', 10).drainedSince).toBeUndefined();
  expect(memory.recall(drained, 'h', 11).drainedSince).toBe(11);
});

test('a verdict on a pod holds for the templates that it was about, until something changes', () => {
  const memory = new PodMemory();
  memory.judged(UID, 'h', { how: 'replace', why: 'w' }, 0);
  expect(memory.recall(observed(), 'h', 1).verdict).toEqual({ how: 'replace', why: 'w' });
  expect(memory.recall(observed(), 'other', 1).verdict).toBeUndefined();
  memory.reconsider();
  expect(memory.recall(observed(), 'h', 1).verdict).toBeUndefined();
});

test("a refusal of a pod's change is tried again after a minute, and later each time, but each hour", () => {
  const memory = new PodMemory();
  const waits: number[] = [];
  for (let now = 0; waits.length < 8; ) {
    memory.judged(UID, 'h', { how: 'refused', why: 'w' }, now);
    const { until = Number.NaN } = memory.recall(observed(), 'h', now).verdict ?? {};
    expect(memory.recall(observed(), 'h', until - 1).verdict).toMatchObject({ how: 'refused', why: 'w' });
    expect(memory.recall(observed(), 'h', until).verdict).toBeUndefined();
    waits.push((until - now) / 60_000);
    now = until;
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
const claims = (uid: string, seconds: number, more: Partial<Observed> = {}) => {
  const status = { templates: [], added: {}, overlaid: {}, moved: {}, requests: {}, at: at(seconds) };
  return observed({ uid, status, ...more });
};

test('what a pod claims of itself is believed once, when a term begins, but for what is still to come', () => {
  const memory = new PodMemory();
  expect(memory.recall(claims('a', 10), 'h', 20_000)).toMatchObject({
    changedAt: 10_000,
    isReplacement: true,
  });
  expect(memory.recall(claims('b', 21), 'h', 20_000).changedAt).toBeUndefined();
  memory.recalledAll(20_000);
  expect(memory.recall(claims('a', 25), 'h', 30_000).changedAt).toBe(10_000);
  expect(memory.recall(claims('b', 21), 'h', 30_000).changedAt).toBeUndefined();
  const later = memory.recall(claims('c', 25, { createdAt: 24_000, isDraining: true }), 'h', 30_000);
  expect(later).toMatchObject({ changedAt: undefined, isReplacement: false, isDrainOurs: false });
  memory.clear();
  expect(memory.recall(claims('b', 21), 'h', 30_000).changedAt).toBe(21_000);
});

test('what a pod claims of itself does not replace what the leader did, also when its clock is set back', () => {
  const memory = new PodMemory();
  memory.recalledAll(0);
  memory.changed('a', 50_000);
  memory.drained('a');
  expect(memory.recall(observed({ uid: 'a' }), 'h', 60_000)).toMatchObject({
    changedAt: 50_000,
    isDrainOurs: true,
  });
  expect(memory.recall(observed({ uid: 'a' }), 'h', 40_000).changedAt).toBe(40_000);
  expect(memory.recall(observed({ uid: 'a' }), 'h', 45_000).changedAt).toBe(40_000);
});

test('what a pod claims of itself is a replacement only after an eviction of its workload, once for each', () => {
  const memory = new PodMemory();
  const owner = { uid: 'web', kind: 'ReplicaSet' };
  const isReplacement = (uid: string, more: Partial<Observed>) =>
    memory.recall(observed({ uid, owner, createdAt: 30_000, ...more }), 'h', 31_000).isReplacement;
  memory.recalledAll(1_000);
  memory.evicted(observed({ owner }), 30_500);
  expect(isReplacement(UID, {})).toBe(false);
  expect(isReplacement('early', { createdAt: 9_000 })).toBe(false);
  expect(isReplacement('foreign', { key: 'evil/web' })).toBe(false);
  expect(isReplacement('first', {})).toBe(true);
  expect(isReplacement('second', {})).toBe(false);
  expect(isReplacement('first', {})).toBe(true);
});

const blockedOf = (memory: PodMemory, now: number) => memory.recall(observed(), 'h', now).blocked;

test('a pod that may not be disrupted waits since the first refusal', () => {
  const memory = new PodMemory();
  memory.block(UID, 'no (1)', 0, 10_000);
  expect(blockedOf(memory, 9_000)).toEqual({ since: 0, until: 10_000, why: 'no (1)' });
  memory.block(UID, 'no (2)', 20_000, 10_000);
  expect(blockedOf(memory, 20_000)).toEqual({ since: 0, until: 30_000, why: 'no (2)' });
});

test('an evicted pod is missed until its replacement is seen, and one that others removed for a moment', () => {
  const memory = new PodMemory();
  const owner = { uid: 'web', kind: 'StatefulSet' };
  const of = (uid: string, more: Partial<Observed> = {}) => observed({ uid, owner, ...more });
  const missed = (now: number) =>
    memory.gone(now).map((pod) => [pod.isGoing && pod.uid, memory.recall(pod, 'h', now).evictedAt]);
  memory.removed(of('before'), 1_000);
  expect(memory.recall(of('going', { isGoing: true }), 'h', 1_000).evictedAt).toBe(1_000);
  memory.recalledAll(1_000);
  memory.evicted(of('a'), 30_000);
  expect(missed(35_000)).toEqual([]);
  for (const uid of ['going', 'a', 'other']) memory.removed(of(uid), 36_000);
  expect(missed(36_000)).toEqual([['going'], ['a', 30_000], ['other']]);
  memory.recall(of('old'), 'h', 41_000);
  expect(missed(41_000)).toEqual([['a', 30_000]]);
  // The clock of the API server is behind.
  memory.recall(of('new', { createdAt: 24_000 }), 'h', 41_000);
  expect(missed(41_000)).toEqual([]);
});

test('a clock that is set back keeps no pod drained or blocked until it is right again', () => {
  const memory = new PodMemory();
  const drained = observed({ isDraining: true, ready: false });
  memory.recall(drained, 'h', 3_600_000);
  memory.block(UID, 'no', 3_600_000, 10_000);
  expect(memory.recall(drained, 'h', 1_000)).toMatchObject({
    drainingSince: 1_000,
    drainedSince: 1_000,
    blocked: undefined,
  });
});
