import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import type { Route, RouteParentStatus } from '../../../../../src/addons/routes/compile/route.ts';
import { routeStatusReconcile } from '../../../../../src/addons/routes/delivery/route-status.ts';
import { ApiError } from '../../../../../src/kube/api/api-error.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

const signal = new AbortController().signal;
const services = servicesOf([serviceAt('shop/echo', '10.96.0.7')]);

function setUp(service = 'shop/echo') {
  const clock = new FakeClock();
  const programmed = { sidecars: 0, of: 2 };
  const writes: (readonly RouteParentStatus[])[] = [];
  /** Of the route as it was read: entries that others have written since must not be lost. */
  const versions: string[] = [];
  const events: string[] = [];
  const state = { isOvertaken: false, isSurveyed: true };
  const given = routeFor('shop/one', service, [{}]);
  let live: Route = { ...given, metadata: { ...given.metadata, generation: 1, resourceVersion: '1' } };
  const reconcileKey = routeStatusReconcile({
    client: {
      async mergePatch(resource, _, patch) {
        if (state.isOvertaken) throw new ApiError({ status: 409, reason: 'Conflict', message: 'changed' });
        const { metadata, status } = patch as {
          metadata: { resourceVersion: string };
          status: { parents: readonly RouteParentStatus[] };
        };
        const { parents } = status;
        versions.push(metadata.resourceVersion);
        writes.push(parents);
        live = { ...live, status: { parents } };
        return resource.decode(live);
      },
    },
    routes: { get: () => live },
    compilation: () => compileRoutes({ routes: [live], services }),
    programmed: () => programmed,
    isSurveyed: () => state.isSurveyed,
    events: { event: (_, { type, reason }) => void events.push(`${type} ${reason}`) },
    now: () => clock.now(),
    wallClock: () => new Date('2026-01-01T00:00:00.123Z'),
  });
  const change = () => {
    const { metadata } = live;
    live = { ...live, metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 } };
  };
  const reconcile = () => reconcileKey('shop/one', signal);
  const numbers = () =>
    writes.map((parents) => parents[0]?.conditions.find(({ type }) => type.endsWith('Programmed'))?.message);
  return { clock, programmed, writes, versions, events, state, change, reconcile, numbers };
}

test('the status of a route is written once, with an Event', async () => {
  const { programmed, writes, versions, events, reconcile } = setUp();
  programmed.sidecars = 2;
  expect(await reconcile()).toEqual({});
  await reconcile();
  expect({ writes: writes.length, versions, events }).toEqual({
    writes: 1,
    versions: ['1'],
    events: ['Normal Accepted'],
  });
});

test('the numbers of a route are written every 10 s at most, and at once when all have the route', async () => {
  const { clock, programmed, reconcile, numbers } = setUp();
  for (let second = 0; second < 25; second += 1) {
    await reconcile();
    clock.advance(1000);
    programmed.of += 1;
  }
  expect(numbers()).toEqual(['0 of 2 sidecars', '0 of 12 sidecars', '0 of 22 sidecars']);
  programmed.sidecars = programmed.of;
  expect(await reconcile()).toEqual({});
  expect(numbers().at(-1)).toBe('27 of 27 sidecars');
});

test('the numbers of a route follow pods that come and go rarely, but the first at once', async () => {
  const { clock, programmed, reconcile, numbers } = setUp();
  programmed.of = 0;
  await reconcile();
  Object.assign(programmed, { sidecars: 1, of: 1 });
  await reconcile();
  Object.assign(programmed, { sidecars: 2, of: 2 });
  expect(await reconcile()).toEqual({ requeueAfterMs: 300_000 });
  clock.advance(300_000);
  await reconcile();
  expect(numbers()).toEqual(['0 of 0 sidecars', '1 of 1 sidecars', '2 of 2 sidecars']);
});

test('a problem of a route is an Event, and so is that no sidecar follows', async () => {
  const none = setUp('shop/none');
  await none.reconcile();
  expect(none.events).toEqual(['Warning NoMatchingParent']);
  const alone = setUp();
  alone.programmed.of = 0;
  await alone.reconcile();
  expect(alone.events).toEqual(['Normal Accepted', 'Warning NoSidecar']);
});

test('a status of a route that another client wrote meanwhile is left for the next time, without Events', async () => {
  const { state, writes, events, reconcile } = setUp();
  state.isOvertaken = true;
  await reconcile();
  expect({ writes, events }).toEqual({ writes: [], events: [] });
  state.isOvertaken = false;
  await reconcile();
  expect(writes).toHaveLength(1);
});

test('a new leader writes the numbers of a route once it has asked all sidecars, and then at once', async () => {
  const { programmed, writes, state, events, reconcile, numbers } = setUp();
  Object.assign(programmed, { sidecars: 3, of: 3 });
  await reconcile();
  state.isSurveyed = false;
  Object.assign(programmed, { sidecars: 1, of: 1 });
  expect(await reconcile()).toEqual({ requeueAfterMs: 1000 });
  expect(numbers()).toEqual(['3 of 3 sidecars']);
  state.isSurveyed = true;
  Object.assign(programmed, { sidecars: 2, of: 3 });
  await reconcile();
  expect(numbers()).toEqual(['3 of 3 sidecars', '2 of 3 sidecars']);
  expect({ writes: writes.length, events }).toEqual({ writes: 2, events: ['Normal Accepted'] });
});

test('a route that is new to a new leader is accepted at once, without numbers or missing sidecars', async () => {
  const { programmed, state, events, reconcile, numbers } = setUp();
  state.isSurveyed = false;
  Object.assign(programmed, { sidecars: 0, of: 0 });
  await reconcile();
  expect({ numbers: numbers(), events }).toEqual({ numbers: [undefined], events: ['Normal Accepted'] });
  state.isSurveyed = true;
  Object.assign(programmed, { sidecars: 1, of: 1 });
  await reconcile();
  expect(numbers()).toEqual([undefined, '1 of 1 sidecars']);
});

test.each([true, false])(
  'a new generation of a route is said at once, whatever the numbers wait for (surveyed: %s)',
  async (isSurveyed) => {
    const { writes, state, change, reconcile } = setUp();
    await reconcile();
    state.isSurveyed = isSurveyed;
    for (const generation of [2, 3]) {
      change();
      await reconcile();
      const said = writes.at(-1)?.flatMap(({ conditions }) => conditions) ?? [];
      expect(new Set(said.map(({ observedGeneration }) => observedGeneration))).toEqual(
        new Set([generation]),
      );
      expect(said).toContainEqual(expect.objectContaining({ type: 'Accepted', status: 'True' }));
    }
  },
);
