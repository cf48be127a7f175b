import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RotationWorld, SimulatedController } from './rotation-world.ts';

const LEAF_MS = 1_200_000;
const lifetimes = { leafMs: LEAF_MS, authorityMs: 6 * LEAF_MS, skewMs: 5_000, settleMs: 100_000 };
/** How long a replica may take to notice a new leaf, and an API server to notice a new bundle. */
const lag = { replicaMs: LEAF_MS / 6, apiServerMs: lifetimes.settleMs };

const oneIn = (n: number) => fc.nat({ max: n - 1 }).map((dice) => dice === 0);
const controllerIndex = fc.nat({ max: 2 });

/** The events of one moment. */
const moment = fc.record({
  passedMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: LEAF_MS / 10 })),
  cacheLagMs: fc.integer({ min: 0, max: LEAF_MS / 8 }),
  woken: controllerIndex,
  killed: fc.option(controllerIndex, { freq: 30 }),
  /** A process hangs for that many moments. */
  stopped: fc.option(fc.record({ who: controllerIndex, moments: fc.nat({ max: 40 }) }), { freq: 15 }),
  meddled: oneIn(10),
  moved: fc.array(controllerIndex, { maxLength: 8 }),
  ghostMoved: oneIn(20),
});

test('every API server trusts what any replica serves, whenever leaders stop, die or overlap', async () => {
  let rotations = 0;
  const property = fc.asyncProperty(fc.array(moment, { minLength: 200, maxLength: 400 }), async (moments) => {
    const world = await RotationWorld.create(lifetimes);
    const controllers = [0, 1, 2].map(() => ({
      controller: new SimulatedController(world),
      stoppedUntil: 0,
    }));
    const ghosts: SimulatedController[] = [];
    for (const [i, { killed, stopped, ...happens }] of moments.entries()) {
      const before = world.material.issuer;
      world.now += happens.passedMs;
      world.cacheLagMs = happens.cacheLagMs;
      if (happens.meddled) world.meddle();
      if (stopped) Object.assign(controllers[stopped.who] ?? {}, { stoppedUntil: i + stopped.moments });
      if (killed !== null) {
        const [dead] = controllers.splice(killed, 1, {
          controller: new SimulatedController(world),
          stoppedUntil: 0,
        });
        dead?.controller.kill();
        if (dead?.controller.isWaiting) ghosts.push(dead.controller);
      }
      if (happens.ghostMoved) await ghosts.shift()?.move();
      await controllers[happens.woken]?.controller.wake();
      for (const who of happens.moved) {
        const moving = controllers[who];
        if (moving && moving.stoppedUntil <= i) await moving.controller.move();
      }
      const { issuer, bundle } = world.material;
      if (issuer !== before) rotations += 1;
      if (before && !bundle.some(({ fingerprint }) => fingerprint === before.fingerprint)) {
        // The authority was dropped, or the leader started over: only after all its certificates have expired.
        expect(before.notAfter).toBeLessThanOrEqual(world.now);
        return;
      }
      // Leaders were kept from their work until all had expired: the next authority signs at once, known or not.
      if (before && issuer !== before && before.notAfter <= world.now) return;
      expect(world.refused(lag)).toEqual([]);
    }
  });
  // A counterexample has hundreds of moments, and shrinking it takes minutes. Shrink by hand.
  await fc.assert(property, { numRuns: 50, endOnFailure: true });
  // Without rotations the property would prove nothing.
  expect(rotations).toBeGreaterThan(20);
});

const STEPS = 16;
const STARTS = 10;
const PAUSES = 7;

/** Runs from just before the authority is due until a new one signs; calls `interlude(i)` before step i. */
async function rotate(interlude: (step: number, world: RotationWorld) => Promise<void>): Promise<void> {
  const world = await RotationWorld.create(lifetimes);
  const leader = new SimulatedController(world);
  const first = world.material.issuer;
  world.now += (2 / 3) * lifetimes.authorityMs - lifetimes.settleMs;
  for (let step = 0; step < STEPS; step += 1) {
    await interlude(step, world);
    world.now += lifetimes.settleMs / 3;
    await leader.wake();
    while (leader.isWaiting) await leader.move();
    expect(world.refused(lag)).toEqual([]);
  }
  expect(world.material.issuer).not.toBe(first);
}

const starts = Array.from({ length: STARTS }, (_, start) => start);
test.each(starts)(
  'a rival that begins in step %i of a rotation, and stops anywhere for any time, harms nothing',
  async (start) => {
    for (let pause = 0; pause <= PAUSES; pause += 1) {
      for (let end = start; end < STEPS; end += 1) {
        let rival: SimulatedController | undefined;
        await rotate(async (step, world) => {
          if (step === start) {
            rival = new SimulatedController(world);
            world.meddle();
            await rival.wake();
            for (let moved = 0; moved < pause; moved += 1) await rival.move();
          }
          while (step === end && rival?.isWaiting) await rival.move();
        });
      }
    }
  },
);

test('an undisturbed leader renews its authority in time for years, and its bundle does not grow', async () => {
  const world = await RotationWorld.create(lifetimes);
  const leader = new SimulatedController(world);
  const authorities = new Set<string>();
  for (let i = 0; i < 2_000; i += 1) {
    world.now += LEAF_MS / 20;
    await leader.wake();
    while (leader.isWaiting) await leader.move();
    const { issuer, leaf, bundle } = world.material;
    authorities.add(issuer?.fingerprint ?? 'none');
    expect(leaf?.notAfter).toBeGreaterThan(world.now + LEAF_MS / 4);
    expect(issuer?.notAfter).toBeGreaterThanOrEqual(leaf?.notAfter ?? Number.NaN);
    expect(bundle.length).toBeLessThanOrEqual(2);
    expect(world.refused(lag)).toEqual([]);
  }
  // 2,000 steps are 100 lives of a leaf; an authority signs for 4 of them.
  expect(authorities.size).toBeGreaterThanOrEqual(24);
});
