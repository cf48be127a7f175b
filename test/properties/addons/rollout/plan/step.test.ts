import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Action } from '../../../../../src/addons/rollout/plan/pod.ts';
import type { Strategy } from '../../../../../src/injection/template/strategy.ts';
import {
  type Behaviour,
  RolloutWorld,
  setOf,
  strategyOf,
  type WorldPod,
} from '../../../../support/rollout/rollout-world.ts';

const [OLD, BAD, NEW] = [setOf('envoy:1'), setOf('envoy:bad'), setOf('envoy:2')];
const RESHAPED = setOf('envoy:2', '[--new]');

/** A generator of numbers from 0 to 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const uid = fc.nat(0xffff_ffff).map((n) => `${n.toString(16).padStart(8, '0')}-owner`);
const workloads = fc.uniqueArray(fc.record({ uid, replicas: fc.integer({ min: 1, max: 7 }) }), {
  selector: (each) => each.uid,
  minLength: 1,
  maxLength: 6,
});
const strategies = fc
  .record({
    mode: fc.constantFrom('in-place', 'in-place-or-replace'),
    maxUnavailable: fc.constantFrom('1', '2', '25%', '50%', '100%'),
    perMinute: fc.constantFrom(1, 5, 60, 1000),
    canary: fc.constantFrom('', 'canary: {percent: 10}', 'canary: {percent: 50, hold: 2m}'),
    failures: fc.integer({ min: 1, max: 3 }),
    onHalt: fc.constantFrom('back', 'stop'),
    singleReplica: fc.constantFrom('leave', 'change'),
  })
  .map(({ mode, maxUnavailable, perMinute, canary, failures, onHalt, singleReplica }) =>
    strategyOf(`
mode: ${mode}
maxUnavailable: ${maxUnavailable}
perMinute: ${perMinute}
singleReplica: ${singleReplica}
${canary}
breaker: {failures: ${failures}, of: 10, within: 60s, then: ${onHalt}}`),
  );

interface Run {
  readonly world: RolloutWorld;
  readonly random: () => number;
  /** Called before each write to a pod. */
  readonly beforeWrite?: (action: Action) => void;
  readonly afterWrite?: () => void;
}

/** Lets the operator, the kubelets and the time go on, in step with each other. */
function takeTurns(world: RolloutWorld, random: () => number, turns: number): void {
  for (let i = 0; i < turns; i += 1) {
    const { actions, decision } = world.step();
    if (decision) world.decide(decision);
    else for (const action of actions) world.act(action);
    for (const pod of [...world.pods.values()]) world.progress(pod);
    world.now += Math.floor(random() * 10_000);
  }
}

/**
 * Lets the operator, the kubelets and the time go on in any order, and the operator die after any write, until nothing
 * is left to do.
 */
function runUntilQuiet({ world, random, beforeWrite, afterWrite }: Run): void {
  let quiet = 0;
  for (let turns = 0; quiet < 3; turns += 1) {
    if (turns > 20_000) throw new Error('the rollout does not end');
    const before =
      JSON.stringify(world.writes.length) + JSON.stringify(world.stored.map((each) => each.state));
    const all = [...world.pods.values()];
    for (const pod of all) if (random() < 0.5) world.progress(pod);
    if (random() < 0.1) world.restart();
    const { actions, decision, wakeInMs } = world.step();
    expect(world.step().actions.map(nameOf)).toEqual(actions.map(nameOf));
    if (decision && random() < 0.8) world.decide(decision);
    else {
      const dies = random() < 0.1 ? Math.floor(random() * actions.length) : actions.length;
      for (const action of actions.slice(0, dies)) {
        beforeWrite?.(action);
        world.act(action);
        afterWrite?.();
      }
      if (dies < actions.length) world.restart();
    }
    world.keepHistory();
    const moved = [...world.pods.values()].map((pod) => random() < 0.7 && world.progress(pod)).some(Boolean);
    // Kubelets and operator may be slow, but not slower than the breaker allows.
    const isBusy =
      moved ||
      actions.length > 0 ||
      decision !== undefined ||
      [...world.pods.values()].some((pod) => world.isBehind(pod));
    world.now +=
      wakeInMs !== undefined && !isBusy && random() < 0.5 ? wakeInMs : Math.floor(random() * 3_000);
    const after =
      JSON.stringify(world.writes.length) + JSON.stringify(world.stored.map((each) => each.state));
    // What a kubelet has still to do may wake the operator: a drained pod is Ready until the kubelet has seen it.
    const pending = [...world.pods.values()].some((pod) => world.isBehind(pod));
    const next = world.step();
    const isIdle = !pending && next.actions.length === 0 && !next.decision && next.wakeInMs === undefined;
    quiet = before === after && isIdle && !moved ? quiet + 1 : 0;
  }
}

function nameOf({ do: what, pod }: Action): string {
  return `${what} ${pod.key}`;
}

function worldOf(options: {
  readonly workloads: readonly { readonly uid: string; readonly replicas: number }[];
  readonly strategy: Strategy;
  readonly seed: number;
  readonly behaviour?: (isNew: boolean, random: () => number) => Behaviour;
}) {
  const random = randomFrom(options.seed);
  const world = new RolloutWorld({
    workloads: options.workloads,
    strategy: options.strategy,
    first: OLD,
    random,
    behaviour: (set) => options.behaviour?.(set !== OLD, random) ?? 'runs',
  });
  return { world, random };
}

/** Fails where the operator takes more pods of a workload out than it may. */
function budgetKeeper(world: RolloutWorld): () => void {
  return () => {
    const replicas = new Map<string, number>();
    for (const { workload } of world.pods.values()) replicas.set(workload, (replicas.get(workload) ?? 0) + 1);
    for (const [workload, busy] of world.unavailable()) {
      const [share, all] = [world.strategy.maxUnavailable, replicas.get(workload) ?? 0];
      // A share of a small workload is one pod.
      const most = 'count' in share ? share.count : Math.max(1, Math.ceil(all * (share.percent / 100)));
      expect(busy).toBeLessThanOrEqual(most);
    }
    if (world.revisions.target.state === 'halted') return;
    const changes = world.writes.filter(
      ({ action, at }) => (action === 'change' || action === 'evict') && at > world.now - 60_000,
    );
    expect(changes.length).toBeLessThanOrEqual(world.strategy.perMinute);
  };
}

const seeds = fc.nat();

test('a rollout of a good template reaches every pod within the budgets, wherever the operator is killed', () => {
  fc.assert(
    fc.property(workloads, strategies, seeds, (given, strategy, seed) => {
      const { world, random } = worldOf({ workloads: given, strategy, seed });
      world.adopted = NEW;
      world.keepHistory();
      runUntilQuiet({ world, random, afterWrite: budgetKeeper(world) });
      expect(world.revisions.target.state).toBe('promoted');
      for (const { pod, is, why } of world.step().pods) {
        const isLeft = strategy.singleReplica === 'leave' && is === 'left' && why === 'single-replica';
        expect(isLeft ? 'current' : is).toBe('current');
        expect(pod.isDraining).toBe(false);
      }
      expect(world.step().phase).toBe('done');
    }),
    { numRuns: 120 },
  );
});

test('a rollout of a good template replaces pods where the shape differs, or says why not', () => {
  fc.assert(
    fc.property(workloads, strategies, seeds, (given, strategy, seed) => {
      const { world, random } = worldOf({ workloads: given, strategy, seed });
      world.adopted = RESHAPED;
      world.keepHistory();
      runUntilQuiet({ world, random, afterWrite: budgetKeeper(world) });
      const replaces = strategy.mode === 'in-place-or-replace';
      for (const { is, why } of world.step().pods) {
        if (!replaces) expect([is, why]).toEqual(['left', 'not-in-place']);
        else if (why !== 'single-replica') expect(is).toBe('current');
      }
      expect(world.writes.some(({ action }) => action === 'change')).toBe(false);
    }),
    { numRuns: 60 },
  );
});

test('a rollout of a good template and the way back give each pod what it had', () => {
  fc.assert(
    fc.property(workloads, strategies, seeds, fc.nat(40), (given, strategy, seed, turns) => {
      const { world, random } = worldOf({ workloads: given, strategy, seed });
      world.adopted = NEW;
      world.keepHistory();
      takeTurns(world, random, turns);
      world.adopted = OLD;
      world.keepHistory();
      runUntilQuiet({ world, random });
      for (const pod of world.pods.values()) expect(world.has(pod, OLD)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['that cannot be pulled', NEW, 'cannot be pulled'],
  ['that is never ready', NEW, 'is never ready'],
  ['of another shape that cannot be pulled', RESHAPED, 'cannot be pulled'],
  ['of another shape that is never ready', RESHAPED, 'is never ready'],
] as const)(
  'a rollout of a template %s reaches no more pods than may fail, and goes back or stops',
  (_, template, behaviour) => {
    fc.assert(
      fc.property(workloads, strategies, seeds, (given, strategy, seed) => {
        const { world, random } = worldOf({
          workloads: given,
          strategy,
          seed,
          behaviour: (isNew) => (isNew ? behaviour : 'runs'),
        });
        world.adopted = template;
        world.keepHistory();
        const touched = new Set<string>();
        runUntilQuiet({
          world,
          random,
          beforeWrite({ do: what, pod }) {
            if ((what !== 'change' && what !== 'evict') || world.revisions.target.state === 'halted') return;
            touched.add(pod.key);
          },
          afterWrite: budgetKeeper(world),
        });
        const changes = template === NEW || strategy.mode === 'in-place-or-replace';
        const changeable = given.filter(
          ({ replicas }) => changes && (replicas > 1 || strategy.singleReplica === 'change'),
        );
        expect(touched.size).toBeLessThanOrEqual(strategy.breaker.failures);
        if (changeable.length === 0) return;
        expect(world.revisions.target.state).toBe('halted');
        const changed = [...world.pods.values()].filter((pod) => world.has(pod, template));
        if (strategy.breaker.onHalt === 'back') expect(changed).toEqual([]);
        else expect(changed.length).toBe(touched.size);
      }),
      { numRuns: 100 },
    );
  },
);

test('the corrected template reaches every pod after a bad one, wherever that was stopped', () => {
  fc.assert(
    fc.property(workloads, strategies, seeds, fc.nat(60), (given, strategy, seed, turns) => {
      const random = randomFrom(seed);
      const world = new RolloutWorld({
        workloads: given,
        strategy,
        first: OLD,
        random,
        behaviour: (set) => (set === BAD ? 'is never ready' : 'runs'),
      });
      world.adopted = BAD;
      world.keepHistory();
      takeTurns(world, random, turns);
      world.adopted = NEW;
      world.keepHistory();
      runUntilQuiet({ world, random });
      expect(world.revisions.target.state).toBe('promoted');
      for (const { is, why } of world.step().pods) expect(['current', 'single-replica']).toContain(why ?? is);
    }),
    { numRuns: 120 },
  );
});

test('a rollout beside pods that fail for ever ends, or only they and their own workloads wait', () => {
  fc.assert(
    fc.property(
      workloads,
      strategies,
      seeds,
      fc.integer({ min: 2, max: 9 }),
      (given, strategy, seed, nth) => {
        const random = randomFrom(seed);
        const isHopeless = ({ key }: WorldPod) => Number(key.replace(/\D/g, '')) % nth === 0;
        const world = new RolloutWorld({
          workloads: given,
          strategy,
          first: OLD,
          random,
          behaviour: (_, pod) => (isHopeless(pod) ? 'is never ready' : 'runs'),
        });
        for (const pod of world.pods.values()) {
          if (isHopeless(pod)) Object.assign(pod, { broken: 'not ready', ready: false });
        }
        world.adopted = NEW;
        world.keepHistory();
        runUntilQuiet({ world, random });
        const { phase, pods } = world.step();
        if (phase === 'done' || phase === 'halted' || phase === 'back') return;
        const whys = pods.flatMap(({ is, why = is }) =>
          is === 'current' || why === 'single-replica' ? [] : [why],
        );
        expect(whys.some((why) => why === 'workload' || why === 'unready')).toBe(true);
        for (const why of whys) expect(['workload', 'unready', 'canary']).toContain(why);
      },
    ),
    { numRuns: 120 },
  );
});

test('a pause stops a rollout, and no pod stays drained', () => {
  fc.assert(
    fc.property(workloads, strategies, seeds, fc.nat(30), (given, strategy, seed, turns) => {
      const { world, random } = worldOf({ workloads: given, strategy, seed });
      world.adopted = NEW;
      world.keepHistory();
      takeTurns(world, random, turns);
      world.paused = true;
      runUntilQuiet({
        world,
        random,
        beforeWrite: ({ do: what }) => expect(what).toBe('undrain'),
      });
      for (const pod of world.pods.values()) expect(pod.draining).toBe(false);
    }),
    { numRuns: 60 },
  );
});
