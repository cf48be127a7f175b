import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { parentsIn } from '../../../../../src/addons/routes/compile/attach.ts';
import type { HTTPRoute, Route, Service } from '../../../../../src/addons/routes/compile/route.ts';
import { Changes } from '../../../../../src/addons/routes/delivery/live-compilation.ts';
import { routeMetrics, weightsOf } from '../../../../../src/addons/routes/delivery/metrics.ts';
import { createRouteHandler } from '../../../../../src/addons/routes/delivery/route-warnings.ts';
import type { AdmissionRequest } from '../../../../../src/kube/admission/review.ts';
import { Slices } from '../../../../../src/kube/util/slices.ts';
import { systemClock } from '../../../../../src/kube/workqueue/clock.ts';
import { times } from '../../../../support/growth/growing-input.ts';
import { grpcRouteFor, routeFor, serviceAt } from '../../../../support/routing/routes.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

const backendRefs = [{ name: 'echo', port: 80 }];
const good = routeFor('shop/new', 'shop/echo', [{ backendRefs }]);

interface World {
  readonly routes?: readonly HTTPRoute[];
  readonly services?: Map<string, Service>;
  readonly sidecarsIn?: readonly string[];
  readonly hasSynced?: boolean;
}

const echo = (): Map<string, Service> =>
  new Map([['shop/echo', serviceAt('shop/echo', '10.96.0.7') as Service]]);

function handlerOf({ routes = [], services = echo(), sidecarsIn = ['shop'], hasSynced = true }: World) {
  return createRouteHandler({
    routes: {
      byIndex: (_, parent) => (routes as readonly Route[]).filter((each) => parentsIn(each).includes(parent)),
    },
    services,
    grants: { list: () => [] },
    hasSynced: () => hasSynced,
    hasSidecars: (namespace) =>
      namespace === undefined ? sidecarsIn.length > 0 : sidecarsIn.includes(namespace),
    clock: systemClock,
    slices: new Slices(systemClock),
  });
}

/** The warnings for a route that is applied, or changed from `before`. */
async function warningsFor(
  route: HTTPRoute,
  world: World = {},
  more: Partial<AdmissionRequest> = {},
  handler = handlerOf(world),
  signal = new AbortController().signal,
): Promise<readonly string[] | undefined> {
  const request = {
    kind: { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' },
    operation: 'CREATE',
    subResource: '',
    name: route.metadata.name,
    namespace: route.metadata.namespace,
    object: JSON.parse(JSON.stringify(route)),
    ...more,
  } as AdmissionRequest;
  const answer = await handler(request, signal);
  expect(answer.allowed).toBe(true);
  return answer.allowed ? answer.warnings : undefined;
}

test('a route with problems has a warning for each', async () => {
  const route = routeFor('shop/new', 'shop/echo', [
    { backendRefs: [{ name: 'none', port: 80 }], filters: [{ type: 'ExtensionRef' }] },
    { backendRefs },
    { backendRefs },
  ]);
  expect(await warningsFor(route)).toEqual([
    'RuleNeverMatches: rules[1] gets no request with path below "/": shop/new rules[0] has the same match and comes first',
    'RuleNeverMatches: rules[2] gets no request with path below "/": shop/new rules[0] has the same match and comes first',
    'InvalidKind: rules[0].filters[0].extensionRef: extensions are not supported: remove the filter',
  ]);
});

test('a route is compared with those before it, and an update of one not with itself', async () => {
  const before = routeFor('shop/old', 'shop/echo', [{ backendRefs }]);
  // The API server has not said yet when it was created.
  const { creationTimestamp: _, ...metadata } = good.metadata;
  expect(await warningsFor({ ...good, metadata }, { routes: [before] })).toEqual([
    'RuleNeverMatches: rules[0] gets no request with path below "/": shop/old rules[0] has the same match and comes first',
  ]);
  expect(await warningsFor(before, { routes: [before] })).toEqual([]);
});

test('a route warns of clients without a sidecar: for a producer everywhere, for a consumer in its own', async () => {
  const told = ['NoSidecar: no running pod follows this route: its clients need the template "transparent"'];
  expect(await warningsFor(good, { sidecarsIn: [] })).toEqual(told);
  const consumer = routeFor('office/new', 'shop/echo', [
    { backendRefs: [{ namespace: 'shop', name: 'echo', port: 80 }] },
  ]);
  expect(await warningsFor(consumer)).toEqual(told);
  expect(await warningsFor(consumer, { sidecarsIn: ['office'] })).toEqual([]);
});

test('a Service that comes into the cache a moment after its route is no problem', async () => {
  const services = new Map<string, Service>();
  const answer = warningsFor(good, { services });
  services.set('shop/echo', serviceAt('shop/echo', '10.96.0.7') as Service);
  expect(await answer).toEqual([]);
});

test('more than four reviews of routes at once get no warnings, until others end or nobody waits for them', async () => {
  const [handler, over] = [handlerOf({ services: new Map() }), new AbortController()];
  const flood = times(4, () => warningsFor(good, {}, {}, handler, over.signal));
  expect(await warningsFor(good, {}, {}, handler)).toBeUndefined();
  over.abort();
  for (const each of await Promise.allSettled(flood)) expect(each.status).toBe('rejected');
  expect(await warningsFor(good, {}, {}, handler)).toHaveLength(2);
});

test('a route has no warnings before caches are filled, nor for its status or an unchanged spec', async () => {
  const bad = routeFor('shop/new', 'shop/none', []);
  const object = JSON.parse(JSON.stringify(bad));
  expect(await warningsFor(bad)).toEqual(['NoMatchingParent: Service shop/none does not exist']);
  expect(await warningsFor(bad, { hasSynced: false })).toBeUndefined();
  expect(await warningsFor(bad, {}, { operation: 'DELETE' })).toBeUndefined();
  expect(await warningsFor(bad, {}, { subResource: 'status' })).toBeUndefined();
  expect(await warningsFor(bad, {}, { kind: { group: '', version: 'v1', kind: 'Pod' } })).toBeUndefined();
  expect(await warningsFor(bad, {}, { operation: 'UPDATE', oldObject: object })).toBeUndefined();
});

test('a route of a Service with very many routes is not compared with them', async () => {
  const routes = Array.from({ length: 501 }, (_, i) =>
    routeFor(`shop/a${i}`, 'shop/echo', [{ backendRefs }]),
  );
  expect(await warningsFor(good, { routes })).toEqual([]);
  expect(await warningsFor(good, { routes: routes.slice(1) })).toHaveLength(1);
});

test('a route with a list that the CRD does not allow is not read', async () => {
  const set = Array.from({ length: 65 }, (_, i) => ({ name: `x-${i}`, value: '' }));
  const withHeaders = (headers: typeof set) =>
    routeFor('shop/new', 'shop/none', [
      { filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: headers } }] },
    ]);
  expect(await warningsFor(withHeaders(set))).toBeUndefined();
  expect(await warningsFor(withHeaders(set.slice(1)))).toHaveLength(1);
});

const backend = (name: string, weight = 1) => ({ name, port: 80, weight });

test('the weights of rules with several backends are shares, named as sidecars do', () => {
  const routes = [
    routeFor('shop/web', 'shop/web', [
      { backendRefs: [backend('v1', 9), { name: 'v2', port: 80, namespace: 'next' }] },
      { backendRefs: [backend('v1')] },
      { backendRefs: [backend('v1', 0), backend('v2', 0)] },
    ]),
    grpcRouteFor('shop/calls', 'shop/web', [{ backendRefs: [backend('v1', 1), backend('v1', 3)] }]),
  ];
  expect(weightsOf(routes)).toEqual([
    { route: 'shop/web rules[0]', backend: 'shop/v1:80', share: 0.9 },
    { route: 'shop/web rules[0]', backend: 'next/v2:80', share: 0.1 },
    { route: 'GRPCRoute shop/calls rules[0]', backend: 'shop/v1:80', share: 1 },
  ]);
});

test('a tenant’s 1,000 routes with names that they make up leave the others their series', () => {
  const split = [{ backendRefs: [backend('"} 1\n'), backend('\\')] }];
  const routes = [...times(1000, (at) => `bad/r${at}`), 'good/web'].map((key) => routeFor(key, key, split));
  const weights = weightsOf(routes);
  expect(weights).toHaveLength(102);
  expect(weights.at(-1)).toMatchObject({ route: 'good/web rules[0]' });
});

function setUp() {
  const [clock, stop] = [new FakeClock(), new AbortController()];
  const changes = new Changes(clock);
  const handled: number[] = [];
  const running = changes.run(async () => void handled.push(clock.now()), stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, changes, handled, end };
}

test('changes of routes are handled once, when there were none for 50 ms', async () => {
  const { clock, changes, handled, end } = setUp();
  changes.mark();
  await clock.advanceAsync(30);
  changes.mark();
  await clock.advanceAsync(500);
  expect(handled).toEqual([100]);
  await end();
});

test('changes of routes are handled after a second though there are more', async () => {
  const { clock, changes, handled, end } = setUp();
  for (let ms = 0; ms < 1100; ms += 20) {
    changes.mark();
    await clock.advanceAsync(20);
  }
  expect(handled).toEqual([1000]);
  await end();
});

/** The samples of a metric, as `LABELS VALUE`. */
async function samples(registry: Registry, name: string): Promise<readonly string[]> {
  const text = await registry.getSingleMetricAsString(`envoy_initializer_routes_${name}`);
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(`envoy_initializer_routes_${name}`, ''));
}

test('the files of the 100 largest namespaces have series, until the end of the term', async () => {
  const registry = new Registry();
  const metrics = routeMetrics(registry, {
    behind: () => 0,
    weights: () => [],
  });
  for (let size = 1; size <= 101; size++) metrics.size(`ns-${size}`, size);
  metrics.size('ns-2', 1000);
  const series = await samples(registry, 'file_bytes');
  expect(series).toHaveLength(100);
  expect(series).toContain('{namespace="ns-2"} 1000');
  expect(series.join()).not.toContain('"ns-1"');
  metrics.reset();
  expect(await samples(registry, 'file_bytes')).toEqual([]);
});
