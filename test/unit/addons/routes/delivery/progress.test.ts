import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import type { HTTPRoute } from '../../../../../src/addons/routes/compile/route.ts';
import type { Obstacle } from '../../../../../src/addons/routes/compile/status.ts';
import { type Fleet, Progress } from '../../../../../src/addons/routes/delivery/progress.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

const services = servicesOf([serviceAt('shop/echo', '10.96.0.7'), serviceAt('office/desk', '10.96.1.1')]);
const rule = (path: string) => [
  {
    matches: [{ path: { type: 'Exact' as const, value: path } }],
    backendRefs: [{ namespace: 'shop', name: 'echo', port: 80 }],
  },
];
const at = (route: HTTPRoute, generation: number): HTTPRoute => ({
  ...route,
  metadata: { ...route.metadata, generation },
});

/** One sidecar in each of two namespaces. */
function setUp() {
  const [progress, running] = [new Progress(), new Map<string, string>()];
  const obstacles = new Map<string, Obstacle>();
  let compilation = compileRoutes({ routes: [], services });
  const compile = (...routes: readonly HTTPRoute[]) => compileWith(services, ...routes);
  const compileWith = (known: typeof services, ...routes: readonly HTTPRoute[]) => {
    compilation = compileRoutes({ routes, services: known });
    progress.compiled(compilation.routes);
    return compilation;
  };
  const run = (namespace: string, version: string) => {
    running.set(namespace, version);
    progress.recount();
  };
  const take = (namespace: string) => run(namespace, compilation.file(namespace).version);
  const served = new Set(['shop', 'office']);
  const fleet: Fleet = {
    namespaces: () => served,
    tally(namespace) {
      const version = running.get(namespace);
      return new Map(version === undefined ? [] : [[version, 1]]);
    },
    obstacles,
  };
  const of = (key: string) => progress.of(key, compilation, fleet);
  return { progress, compile, compileWith, run, take, of, obstacles, served };
}

test('the change of one route changes the numbers of no other', () => {
  const { compile, take, of } = setUp();
  const one = at(routeFor('shop/one', 'shop/echo', rule('/1')), 1);
  compile(one);
  expect(of('shop/one')).toEqual({ sidecars: 0, of: 0 });
  take('shop');
  take('office');
  expect(of('shop/one')).toEqual({ sidecars: 2, of: 2 });
  compile(one, at(routeFor('office/two', 'office/desk', rule('/2')), 1));
  expect([of('shop/one'), of('office/two')]).toEqual([
    { sidecars: 2, of: 2 },
    { sidecars: 0, of: 2 },
  ]);
  compile(at(routeFor('shop/one', 'shop/echo', rule('/3')), 2));
  expect(of('shop/one')).toEqual({ sidecars: 0, of: 2 });
});

test('a route is new to sidecars when the Service that it names appears', () => {
  const { compile, compileWith, take, of } = setUp();
  const early = at(routeFor('shop/early', 'shop/echo', rule('/1')), 1);
  compileWith(servicesOf([]), early);
  of('shop/early');
  take('shop');
  take('office');
  compile(early);
  expect(of('shop/early')).toEqual({ sidecars: 0, of: 2 });
});

test('sidecars in namespaces where a route does not hold do not count for it', () => {
  const { compile, take, of } = setUp();
  compile(
    at(routeFor('shop/one', 'shop/echo', rule('/1')), 1),
    at(routeFor('office/own', 'shop/echo', rule('/2')), 1),
  );
  of('shop/one');
  take('shop');
  take('office');
  expect([of('shop/one'), of('office/own')]).toEqual([
    { sidecars: 1, of: 1 },
    { sidecars: 1, of: 1 },
  ]);
});

test('an obstacle of a route counts in a namespace whose sidecars are behind', () => {
  const { compile, run, take, of, obstacles } = setUp();
  const obstacle = { reason: 'RoutesTooLarge', message: 'office' } as const;
  obstacles.set('office', obstacle);
  compile(routeFor('shop/a', 'shop/echo', rule('/a')));
  take('shop');
  run('office', 'another');
  expect(of('shop/a')).toEqual({ sidecars: 1, of: 2, obstacle });
  take('office');
  expect(of('shop/a')).toEqual({ sidecars: 2, of: 2 });
});

test('a namespace without a file of routes does not count any more', () => {
  const { compile, take, of, progress, served } = setUp();
  compile(routeFor('shop/a', 'shop/echo', rule('/a')));
  take('shop');
  take('office');
  expect(of('shop/a')).toEqual({ sidecars: 2, of: 2 });
  served.delete('office');
  progress.forget('office');
  expect(of('shop/a')).toEqual({ sidecars: 1, of: 1 });
});

test('a route that is left out of a file is in use by nobody there, and says why', () => {
  const { compile, take, of } = setUp();
  const large = { matches: [{ path: { type: 'Exact' as const, value: `/${'x'.repeat(1000)}` } }] };
  const many = (parent: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      routeFor(`${parent.split('/')[0]}/${index}`, parent, [large]),
    );
  compile(...many('shop/echo', 500), ...many('office/desk', 400));
  take('office');
  take('shop');
  expect(of('shop/1')).toEqual({
    sidecars: 1,
    of: 2,
    obstacle: {
      reason: 'RoutesTooLarge',
      message: expect.stringMatching(
        /^the routes that apply in namespace office exceed 1000000 bytes, so the \d+ bytes of routes in namespace shop are left out: /,
      ),
    },
  });
  expect(of('office/1')).toMatchObject({ sidecars: 1 });
});
