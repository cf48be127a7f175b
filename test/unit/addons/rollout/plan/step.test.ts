import { describe, expect, test } from '@jest/globals';
import type { RolloutPod } from '../../../../../src/addons/rollout/plan/pod.ts';
import type { Revision, Revisions } from '../../../../../src/addons/rollout/plan/revision.ts';
import { step } from '../../../../../src/addons/rollout/plan/step.ts';
import { appliedTemplate } from '../../../../../src/injection/status.ts';
import type { TemplateSet } from '../../../../../src/injection/template/template-set.ts';
import { setOf, strategyOf } from '../../../../support/rollout/rollout-world.ts';

const NOW = 1_000_000_000;
const [OLD, NEW] = [setOf('envoy:1'), setOf('envoy:2')];
let count = 0;

function statusOf({ templates }: TemplateSet, more = {}) {
  const applied = [...templates.values()].map(appliedTemplate);
  return { templates: applied, added: {}, overlaid: {}, moved: {}, requests: {}, ...more };
}

function pod(fields: Partial<RolloutPod> = {}): RolloutPod {
  count += 1;
  const { at } = fields.status ?? {};
  return {
    key: `shop/pod-${count}`,
    uid: `${count}`,
    namespace: { namespaceLabels: {} },
    selects: undefined,
    owner: { uid: '80000000-web', kind: 'ReplicaSet' },
    node: 'node',
    createdAt: NOW - 3_600_000,
    isGoing: false,
    ready: true,
    readySince: NOW - 3_600_000,
    isSidecarReady: true,
    sidecarStartedAt: NOW - 3_600_000,
    status: statusOf(OLD),
    changedAt: at === undefined ? undefined : Date.parse(at),
    isReplacement: true,
    evictedAt: undefined,
    missedUntil: undefined,
    isDrainOurs: true,
    isConfigStale: false,
    isOptedOut: false,
    endsByItself: false,
    isDraining: false,
    drainingSince: undefined,
    undrainedAt: undefined,
    isRestarted: true,
    drainedSince: undefined,
    trouble: undefined,
    verdict: undefined,
    blocked: undefined,
    ...fields,
  };
}

const PROMOTED: Revision = {
  set: OLD,
  state: 'promoted',
  canary: { namespaces: undefined, percent: 0 },
  since: 0,
  heldSince: undefined,
};

function to(state: Revision['state'], more: Partial<Revision> = {}): Revisions {
  const target = { ...PROMOTED, set: NEW, state, since: NOW - 60_000, ...more };
  return { target, promoted: state === 'promoted' ? target : PROMOTED, paused: false };
}

const ALL = { namespaces: undefined, percent: 100 };
const IN_PLACE = strategyOf('mode: in-place');
const whys = (result: ReturnType<typeof step>) => result.pods.map(({ is, why }) => why ?? is);

test('a rollout begins with a canary of as many pods as the breaker looks at', () => {
  const owners = ['10000000-a', '60000000-b', 'c0000000-c'];
  const pods = owners.flatMap((uid) =>
    Array.from({ length: 5 }, () => pod({ owner: { uid, kind: 'ReplicaSet' } })),
  );
  expect(step(pods, to('new'), IN_PLACE, NOW)).toMatchObject({
    phase: 'begin',
    actions: [],
    decision: { do: 'begin', canary: { percent: 38 } },
  });
});

test('a step of a rollout changes pods of the canary only, and one of a workload', () => {
  const inside = [
    pod({ owner: { uid: '1-a', kind: 'ReplicaSet' } }),
    pod({ owner: { uid: '1-a', kind: 'ReplicaSet' } }),
  ];
  const outside = [pod(), pod()];
  const canary = { namespaces: undefined, percent: 20 };
  const result = step([...inside, ...outside], to('canary', { canary }), IN_PLACE, NOW);
  expect(result.actions.map((action) => [action.do, action.pod])).toEqual([['drain', inside[0]]]);
  expect(whys(result).sort()).toEqual(['canary', 'canary', 'under-way', 'workload']);
});

test('a rollout holds a canary that is proved, then promotes it', () => {
  const strategy = strategyOf('mode: in-place\ncanary: {percent: 50, hold: 10m}');
  const pods = [pod({ status: statusOf(NEW, { at: new Date(NOW - 30_000).toISOString() }) })];
  expect(step(pods, to('canary', { canary: ALL }), strategy, NOW)).toMatchObject({
    decision: { do: 'hold' },
  });
  const held = (ms: number) => to('canary', { canary: ALL, heldSince: NOW - ms });
  expect(step(pods, held(599_000), strategy, NOW)).toMatchObject({ phase: 'hold', wakeInMs: 1_000 });
  expect(step(pods, held(599_000), strategy, NOW).decision).toBeUndefined();
  expect(step(pods, held(600_000), strategy, NOW)).toMatchObject({ decision: { do: 'promote' } });
});

test('a rollout hides no failure, and holds a canary no longer, after the clock was set back', () => {
  const at = new Date(NOW - 20_000).toISOString();
  const bad = pod({ status: statusOf(NEW, { at }), ready: false, trouble: 'ErrImagePull' });
  const ahead = { canary: ALL, since: NOW + 3_600_000 };
  expect(step([bad, pod()], to('canary', ahead), IN_PLACE, NOW).decision).toEqual({ do: 'halt' });
  const strategy = strategyOf('mode: in-place\ncanary: {percent: 50, hold: 10m}');
  const good = pod({ status: statusOf(NEW, { at }) });
  const held = to('canary', { canary: ALL, heldSince: NOW + 3_600_000 });
  expect(step([good], held, strategy, NOW).decision).toEqual({ do: 'hold' });
});

test('a rollout waits 6 s with a drained pod, and does not change another of its workload', () => {
  const draining = (ms: number) => pod({ isDraining: true, ready: false, drainedSince: NOW - ms });
  const early = step([draining(4_000), pod()], to('promoted'), IN_PLACE, NOW);
  expect(early).toMatchObject({ actions: [], wakeInMs: 2_000 });
  const late = step([draining(6_000), pod()], to('promoted'), IN_PLACE, NOW);
  expect(late.actions.map((action) => action.do)).toEqual(['change']);
});

test('a rollout puts a drained pod back that is not changed after all', () => {
  const drained = pod({ isDraining: true, ready: false, drainedSince: NOW });
  for (const [revisions, strategy] of [
    [{ ...to('promoted'), paused: true }, IN_PLACE],
    [to('halted'), IN_PLACE],
  ] as const) {
    expect(step([drained, pod()], revisions, strategy, NOW).actions.map((action) => action.do)).toEqual([
      'undrain',
    ]);
  }
});

const changed = (ms: number, fields: Partial<RolloutPod> = {}, more = {}) =>
  pod({
    status: statusOf(NEW, { at: new Date(NOW - ms).toISOString(), wasReady: true, ...more }),
    readySince: NOW - ms,
    ...fields,
  });
const failing = { ready: false, isSidecarReady: false } as const;

test.each([
  ['that cannot be pulled', changed(2_000, { ...failing, trouble: 'ErrImagePull: x' })],
  ['that is not Ready in time', changed(61_000, failing)],
  [
    'whose sidecar is not restarted in time',
    changed(61_000, { ...failing, isDraining: true, isRestarted: false }),
  ],
  ['that stays drained', changed(300_000, { ...failing, isDraining: true, drainingSince: NOW - 120_000 })],
])('a rollout halts at the second pod %s', (_, bad) => {
  const first = to('promoted', { since: NOW - 3_600_000 });
  expect(step([bad, pod()], first, IN_PLACE, NOW).decision).toBeUndefined();
  const result = step([bad, { ...bad, uid: 'other' }, pod()], first, IN_PLACE, NOW);
  expect(result).toMatchObject({ phase: 'halted', decision: { do: 'halt' } });
  expect(result.actions.filter((action) => action.do !== 'undrain')).toEqual([]);
  expect(result.health.failing).toHaveLength(2);
});

test.each([
  ['whose node does not answer', changed(90_000, { ...failing, ready: 'unknown' })],
  ['that was not Ready before either', changed(90_000, failing, { wasReady: false })],
  ['that got the template long ago', changed(3_600_000, { ...failing, trouble: 'CrashLoopBackOff' })],
  ['that is still drained, and runs', changed(61_000, { ...failing, isDraining: true })],
  ['that was put back a moment ago', changed(61_000, { ...failing, undrainedAt: NOW - 10_000 })],
  ['that was Ready for a while', changed(300_000, { ...failing, readySince: NOW - 70_000 })],
])('a rollout does not hold a pod against the template %s', (_, bad) => {
  const first = to('promoted', { since: NOW - 7_200_000 });
  const result = step([bad, { ...bad, uid: 'other' }, pod(), pod()], first, IN_PLACE, NOW);
  expect(result.health.failing).toEqual([]);
  expect(result.phase).toBe('rest');
});

test('a rollout does not forget that a configuration of Envoy failed while pods wait for it', () => {
  const bad = () => changed(660_000, { ...failing, trouble: 'CrashLoopBackOff' });
  const stale = () =>
    changed(3_600_000, { owner: { uid: 'other', kind: 'ReplicaSet' }, isConfigStale: true });
  const first = to('promoted', { since: NOW - 7_200_000 });
  const result = step([bad(), bad(), stale(), stale()], first, IN_PLACE, NOW);
  expect(result).toMatchObject({ phase: 'halted', actions: [], decision: undefined });
});

test('a rollout goes back at once with failing pods, and one by one with good ones', () => {
  const back = strategyOf('mode: in-place\nbreaker: {then: back}');
  const pods = [
    changed(10_000, { ...failing, trouble: 'ErrImagePull' }),
    changed(10_000, { ...failing, trouble: 'ErrImagePull' }),
    ...[changed(30_000), changed(30_000)].map((each) => ({
      ...each,
      owner: { uid: 'other', kind: 'ReplicaSet' },
    })),
  ];
  const result = step(pods, to('halted'), back, NOW);
  expect(result.phase).toBe('back');
  expect(result.actions.map((action) => [action.do, action.to.set])).toEqual([
    ['change', OLD],
    ['change', OLD],
    ['drain', OLD],
  ]);
});

test.each([
  ['is not Ready again', { status: statusOf(OLD), changedAt: NOW - 59_000, ...failing }, 'back'],
  ['will hardly be Ready again', { status: statusOf(OLD), changedAt: NOW - 61_000, ...failing }, 'halted'],
  ['was recreated', { status: statusOf(OLD), createdAt: NOW - 1_000, ...failing }, 'back'],
  ['is evicted', { status: statusOf(NEW), isGoing: true }, 'back'],
])('a rollout is on the way back while a pod %s', (_, fields, phase) => {
  const back = strategyOf('mode: in-place\nbreaker: {then: back}');
  const result = step([pod(fields)], to('halted'), back, NOW);
  expect(result.phase).toBe(phase);
  if (!('isGoing' in fields)) expect(whys(result)).toEqual([phase === 'back' ? 'under-way' : 'current']);
});

test('a rollout is halted at once where changed pods stay as they are', () => {
  expect(step([changed(1_000), changed(1_000, failing)], to('halted'), IN_PLACE, NOW).phase).toBe('halted');
});

test('a rollout halts after one failed pod where it leaves no other pod of the canary to change', () => {
  const bad = changed(2_000, { ...failing, trouble: 'ErrImagePull: x' });
  const result = step([bad, pod(), pod(), pod()], to('canary', { canary: ALL }), IN_PLACE, NOW);
  expect(result).toMatchObject({ decision: { do: 'halt' }, health: { failing: [{}] } });
});

test('a rollout changes the only pod of a workload if it may, without a drain', () => {
  const result = step([pod()], to('promoted'), strategyOf('mode: in-place\nsingleReplica: change'), NOW);
  expect(result.actions.map((action) => action.do)).toEqual(['change']);
});

test('a rollout asks again for a pod that a PodDisruptionBudget protects, and goes on with others', () => {
  const until = NOW + 30_000;
  const blocked = pod({ blocked: { until, since: NOW, why: 'budget web allows none' }, uid: '0' });
  const result = step([blocked, pod()], to('promoted'), IN_PLACE, NOW);
  expect(result.actions.map((action) => action.pod === blocked)).toEqual([false]);
  expect(result.pods.find((each) => each.pod === blocked)).toMatchObject({
    why: 'budget',
    message: 'budget web allows none',
  });
  expect(result.wakeInMs).toBeLessThanOrEqual(30_000);
});

test('maxUnavailable counts the pods of a Deployment, whichever of its ReplicaSets they belong to', () => {
  const of = (uid: string, more: Partial<RolloutPod> = {}, creator = 'web') =>
    pod({ owner: { uid, kind: 'ReplicaSet', creator }, ...more });
  const broken = of('1-old', { ready: false, isGoing: true });
  expect(step([broken, of('2-new'), of('2-new')], to('promoted'), IN_PLACE, NOW).actions).toEqual([]);
  const others = [of('2-new', {}, 'cart'), of('2-new', {}, 'cart')];
  expect(step([broken, ...others], to('promoted'), IN_PLACE, NOW).actions).toHaveLength(1);
});

describe('pods that users forge', () => {
  const owner = { uid: '80000000-web', kind: 'ReplicaSet' };

  test.each([
    ['itself', { isOptedOut: true }],
    [
      'by its namespace',
      { namespace: { namespaceLabels: { 'initializer.kubernetes.io/rollout': 'false' } } },
    ],
  ] as const)('a pod that opts out %s stops no rollout with its failures', (_, optOut) => {
    const at = new Date(NOW - 1_000).toISOString();
    const failing = Array.from({ length: 3 }, () =>
      pod({ status: statusOf(NEW, { at }), ready: false, trouble: 'CrashLoopBackOff', ...optOut }),
    );
    const result = step([...failing, pod({ owner: undefined }), pod()], to('promoted'), IN_PLACE, NOW);
    expect(result).toMatchObject({ phase: 'rest', decision: undefined, health: { failing: [] } });
  });

  test('a pod that claims its owner does not join the workload of another namespace, whose only pod stays', () => {
    const forged = pod({ key: 'evil/pod', owner, isGoing: true });
    const result = step(
      [pod({ owner }), forged, pod({ key: 'evil/two', owner })],
      to('promoted'),
      IN_PLACE,
      NOW,
    );
    expect(result.actions).toEqual([]);
    expect(whys(result)).toEqual(['single-replica', 'single-replica']);
  });

  const changed = (state: Revision['state'], more: Partial<RolloutPod>) => {
    const at = new Date(NOW - 10_000).toISOString();
    const forged = Array.from({ length: 100 }, () =>
      pod({
        key: 'evil/pod',
        status: statusOf(NEW, { at }),
        changedAt: undefined,
        isReplacement: false,
        ...more,
      }),
    );
    const failing = [1, 2].map(() =>
      pod({
        status: statusOf(NEW, { at: new Date(NOW - 30_000).toISOString() }),
        ready: false,
        trouble: 'x',
      }),
    );
    const next = (more: readonly RolloutPod[], of = state) =>
      step([...forged, ...more], to(of, { canary: ALL }), IN_PLACE, NOW);
    return {
      alone: next([pod(), pod()]),
      beside: next([...failing, pod()]),
      proved: next([pod({ status: statusOf(NEW), changedAt: NOW - 30_000 })], 'canary'),
    };
  };

  test.each([
    ['promoted', {}],
    ['canary', { owner: undefined }],
    ['canary', { createdAt: NOW - 10_000 }],
    ['canary', { createdAt: NOW - 10_000, readySince: NOW - 1_000 }],
  ] as const)(
    'a forged pod takes no part of the rate, hides no failures, makes no room, and holds up no canary: %s',
    (state, more) => {
      const { alone, beside, proved } = changed(state, more);
      expect(proved.decision).toEqual({ do: 'promote' });
      expect(alone.health.made).toBe(0);
      expect(alone.actions.map((action) => action.do)).toEqual(['drain']);
      expect(beside).toMatchObject({ phase: 'halted', decision: { do: 'halt' } });
    },
  );
});

test('namespaces take turns in a rollout, so that none uses up the rate of all', () => {
  const of = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, i) =>
      [1, 2].map((n) =>
        pod({
          key: `${namespace}/p`,
          uid: `${namespace}${i}-${n}`,
          owner: { uid: `${namespace}${i}`, kind: 'ReplicaSet' },
        }),
      ),
    ).flat();
  const strategy = strategyOf('mode: in-place\nperMinute: 60\nbreaker: {failures: 4, of: 10}');
  const drains = (more: readonly RolloutPod[]) =>
    step([...of('a', 50), ...of('b', 2), ...more], to('promoted'), strategy, NOW).actions.map(
      (action) => action.pod.key,
    );
  expect(drains([])).toEqual(['a/p', 'b/p', 'a/p', 'b/p']);
  const changed = [1, 2].map(() =>
    pod({ key: 'b/q', owner: undefined, changedAt: NOW - 20_000, status: statusOf(NEW) }),
  );
  expect(drains(changed)).toEqual(['a/p', 'a/p', 'a/p', 'b/p', 'a/p', 'b/p']);
});

describe('new pods', () => {
  const failing = (kind: string) =>
    pod({
      owner: { uid: `90000000-${kind}`, kind },
      status: statusOf(NEW),
      createdAt: NOW - 50_000,
      ready: false,
      trouble: 'ErrImagePull',
      isSidecarReady: false,
      sidecarStartedAt: undefined,
    });
  const crowd = () => [...Array.from({ length: 100 }, () => failing('Job')), failing('ReplicaSet')];
  const old = { since: NOW - 86_400_000 };

  test('new pods of a promoted template neither stop nor slow down a rollout that changes pods in place', () => {
    const result = step([...crowd(), pod(), pod()], to('promoted', old), IN_PLACE, NOW);
    expect(result).toMatchObject({ phase: 'rest', decision: undefined });
    expect(result.actions.map((action) => action.do)).toEqual(['drain']);
  });

  test('new pods of a promoted template stop a rollout where they replace evicted ones', () => {
    const strategy = strategyOf('mode: in-place-or-replace');
    const evicted = pod({ status: statusOf(setOf('envoy:1', '[--other]')) });
    const result = step([...crowd(), evicted, pod()], to('promoted', old), strategy, NOW);
    expect(result).toMatchObject({ phase: 'halted', decision: { do: 'halt' } });
  });
});

describe('evicted pods', () => {
  const replace = strategyOf('mode: in-place-or-replace\nperMinute: 2');
  const others = setOf('envoy:1', '[--other]');
  const web = (n: number, more: Partial<RolloutPod> = {}) =>
    pod({ owner: { uid: `1000000${n}-web`, kind: 'ReplicaSet' }, status: statusOf(others), ...more });
  const evicted = (n: number, ms: number) =>
    web(n, { isGoing: true, evictedAt: NOW - ms, missedUntil: NOW - ms + 3_600_000 });
  const unproved = (n: number, ms: number, more: Partial<RolloutPod> = {}) =>
    web(n, { status: statusOf(NEW), createdAt: NOW - ms, ...failing, sidecarStartedAt: undefined, ...more });
  const next = (pods: readonly RolloutPod[], more = [web(3), web(3)], strategy = replace) =>
    step([...pods, ...more], to('canary', { canary: ALL, since: 0 }), strategy, NOW);
  const minutes = 60_000;

  test.each([
    ['do not exist yet', evicted],
    ['are not scheduled', (n: number, ms: number) => unproved(n, ms, { node: '' })],
    ['do not run yet', unproved],
    ['got a node late', (n: number, ms: number) => unproved(n, ms, { readySince: NOW - ms + 61_000 })],
  ])('as many as may fail wait for replacements that %s, for ten minutes', (_, of) => {
    const at = (ms: number) => next([of(1, ms), of(2, ms)]);
    expect(at(9 * minutes)).toMatchObject({ actions: [], health: { pending: 2 } });
    expect(at(10 * minutes).actions).toHaveLength(1);
  });

  test('an evicted pod takes part of the rate, and its workload spares no other for an hour', () => {
    const good = () => pod({ status: statusOf(NEW), changedAt: NOW - minutes });
    const acts = (ms: number) => next([evicted(1, ms), evicted(2, ms), good(), good()]).actions;
    expect([acts(59_000).length, acts(minutes).length]).toEqual([0, 1]);
    const result = next([evicted(3, 59 * minutes)]);
    expect(result).toMatchObject({ actions: [], wakeInMs: minutes });
    expect(whys(result)).toEqual(['workload', 'workload']);
  });

  test('a canary is not promoted while the replacement of its last pod does not exist', () => {
    expect(next([evicted(1, 9 * minutes)], [])).toMatchObject({ phase: 'canary', decision: undefined });
    for (const [ms, strategy] of [[10 * minutes, replace] as const, [0, IN_PLACE] as const])
      expect(next([evicted(1, ms)], [], strategy).decision).toEqual({ do: 'promote' });
  });
});

const inCanary = { uid: '1-a', kind: 'ReplicaSet' };
const canary = { namespaces: { env: 'stagging' }, percent: 20 };
const others = () => [pod(), pod()];
const decide = (pods: readonly RolloutPod[], ms = 60_000) =>
  step(pods, to('canary', { canary, since: NOW - ms }), IN_PLACE, NOW);

test.each([
  ['it has no pods', []],
  [
    'its pods were broken before, and still are',
    [
      pod({
        owner: inCanary,
        ready: false,
        trouble: 'ErrImagePull',
        status: statusOf(NEW, { at: new Date(NOW - 30_000).toISOString(), wasReady: false }),
      }),
    ],
  ],
  ['its pods are left alone', [pod({ owner: inCanary, verdict: { how: 'replace', why: 'x' } })]],
])('a canary that has proved nothing is made wider, and not promoted, where %s', (_, pods) => {
  expect(decide([...pods, ...others()])).toMatchObject({
    phase: 'canary',
    actions: [],
    decision: { do: 'begin', canary: { namespaces: { env: 'stagging' }, percent: 51 } },
  });
});

test('a canary that has proved nothing waits for the nodes of its pods that do not answer', () => {
  const lost = pod({
    owner: inCanary,
    ready: 'unknown',
    status: statusOf(NEW, { at: new Date(NOW - 30_000).toISOString() }),
  });
  const result = decide([lost, ...others()]);
  expect(result).toMatchObject({ phase: 'canary', actions: [], decision: undefined });
  expect(whys(result)).toContain('unready');
});

test('a canary that has proved nothing waits for unscheduled or broken pods if nothing else can prove', () => {
  const at = new Date(NOW - 30_000).toISOString();
  const status = statusOf(NEW, { at, wasReady: false });
  for (const more of [{ node: '' }, { trouble: 'ErrImagePull' }]) {
    const result = decide([pod({ owner: inCanary, ready: false, status, ...more })]);
    expect(result).toMatchObject({ phase: 'canary', decision: undefined });
    expect(whys(result)).toEqual(['unready']);
  }
});

test('a canary that has proved nothing goes by others once its pods have waited for ten minutes', () => {
  const MINUTES = 60_000;
  const web = { owner: inCanary };
  const blocked = (since: number) => ({
    ...web,
    blocked: { until: NOW + 1, since: NOW - since, why: 'x' },
  });
  // It fails and recovers again and again.
  const broken = () =>
    pod({ ...web, status: statusOf(NEW), createdAt: 0, ready: false, readySince: NOW - 1_000 });
  for (const pods of [
    (since: number) => [pod(blocked(since)), pod(blocked(since))],
    (since: number) => [pod(blocked(since)), pod({ ...blocked(since), ready: false })],
    () => [broken(), pod(web), pod(web)],
    // It takes as long to end as its user likes.
    () => [pod({ ...web, isGoing: true }), pod(web), pod(web)],
  ]) {
    const decideIn = (ms: number, more: readonly RolloutPod[]) => decide([...pods(ms), ...more], ms);
    expect(decideIn(9 * MINUTES, others())).toMatchObject({ decision: undefined });
    expect(decideIn(10 * MINUTES, others()).decision).toMatchObject({ do: 'begin' });
    expect(decideIn(10 * MINUTES, [])).toMatchObject({ phase: 'canary', decision: undefined });
  }
});

test('a canary that has proved nothing is promoted where no pod is left that could prove anything', () => {
  expect(decide([])).toMatchObject({ decision: { do: 'promote' } });
});

test('a pod that a bad template broke gets the corrected one, though none of its workload may be away', () => {
  const at = new Date(NOW - 300_000).toISOString();
  const broken = pod({ status: statusOf(setOf('envoy:bad'), { at }), ready: false });
  const { actions } = step([pod(), pod(), pod(), broken], to('canary', { canary: ALL }), IN_PLACE, NOW);
  expect(actions.map((action) => [action.do, action.pod])).toEqual([['change', broken]]);
});

const drained = (more: Partial<RolloutPod>) => pod({ isDraining: true, ...more });

test('a drained pod that Services do not let go is changed at last, so that it does not hold up others', () => {
  const next = (ms: number) =>
    step([drained({ drainingSince: NOW - ms }), pod()], to('promoted'), IN_PLACE, NOW);
  expect(next(119_000)).toMatchObject({ actions: [], wakeInMs: 1_000 });
  expect(next(120_000).actions.map((action) => action.do)).toEqual(['change']);
});

test('a pod that restarts nothing is left alone by a rollout, like that of a Job', () => {
  const strategy = strategyOf('mode: in-place-or-replace\nsingleReplica: change');
  const workflow = pod({ owner: { uid: '70000000-w', kind: 'Workflow' }, endsByItself: true });
  const result = step([workflow, pod()], to('promoted'), strategy, NOW);
  expect(result.actions.map((action) => action.pod)).not.toContain(workflow);
  expect(whys(result)).toContain('job');
});
