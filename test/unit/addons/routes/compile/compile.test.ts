import { describe, expect, test } from '@jest/globals';
import { type Compilation, compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import { MAX_BYTES } from '../../../../../src/addons/routes/compile/left-out.ts';
import type {
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
} from '../../../../../src/addons/routes/compile/route.ts';
import { withoutLongRules } from '../../../../../src/addons/routes/compile/shares.ts';
import { NO_ROUTES } from '../../../../../src/injection/envoy/routed.ts';
import { times } from '../../../../support/growth/growing-input.ts';
import { worldNamespace, worldRoute, worldService } from '../../../../support/routing/route-world.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

const services = servicesOf([
  serviceAt('shop/echo', '10.96.0.7'),
  serviceAt('shop/twin', '10.96.0.7'),
  serviceAt('office/desk', '10.96.1.1'),
]);
const rules: readonly HTTPRouteRule[] = [{ backendRefs: [{ namespace: 'shop', name: 'echo', port: 80 }] }];

function compile(...routes: readonly HTTPRoute[]): Compilation {
  return compileRoutes({ routes, services });
}

function routesAt(compilation: Compilation, client: string): readonly string[] {
  return compilation
    .ports(client)
    .flatMap((port) => port.entries.map(({ route }) => `${port.service}: ${route}`));
}

const producer = routeFor('shop/producer', 'shop/echo', rules);
const consumer = routeFor('office/consumer', 'shop/echo', rules);

test('a route of the namespace of the Service holds everywhere, but where clients have their own', () => {
  const compilation = compile(producer, consumer);
  expect(routesAt(compilation, 'shop')).toEqual(['shop/echo: shop/producer']);
  expect(routesAt(compilation, 'elsewhere')).toEqual(['shop/echo: shop/producer']);
  expect(routesAt(compilation, 'office')).toEqual(['shop/echo: office/consumer']);
});

test('a route that names a port twice has its entries once', () => {
  const [reference] = producer.spec.parentRefs ?? [];
  const twice = {
    ...producer,
    spec: { ...producer.spec, parentRefs: [reference, reference].flatMap((r) => r ?? []) },
  };
  expect(routesAt(compile(twice), 'shop')).toEqual(['shop/echo: shop/producer']);
});

test('a route of a Service with the address of another gives that up', () => {
  const compilation = compile(producer, routeFor('shop/other', 'shop/twin', rules));
  expect(routesAt(compilation, 'shop')).toEqual(['shop/echo: shop/producer']);
});

test('the file of routes is one for all namespaces without routes of their own', () => {
  const desk = routeFor('office/desk', 'office/desk', rules);
  const compilation = compile(desk, routeFor('office/consumer', 'shop/echo', rules));
  expect(compilation.file('shop')).toBe(compilation.file('elsewhere'));
  expect(compilation.file('office')).not.toBe(compilation.file('elsewhere'));
});

test('the file of routes has a version that names its content', () => {
  const [none, one, same] = [compile(), compile(routeFor('shop/a', 'shop/echo', rules)), compile()];
  expect(none?.file('a').version).toBe(same?.file('a').version);
  expect(none?.file('a').version).not.toBe(one?.file('a').version);
  expect(one?.file('a').text).toContain(one?.file('a').version);
});

test('the file of routes has the new address of a backend though no route has changed', () => {
  const routes = [routeFor('shop/a', 'shop/echo', [{ backendRefs: [{ name: 'v1', port: 80 }] }])];
  const [before, after] = ['10.96.3.1', '10.96.3.2'].map((address) =>
    compileRoutes({
      routes,
      services: servicesOf([serviceAt('shop/echo', '10.96.0.7'), serviceAt('shop/v1', address)]),
    }).file('shop'),
  );
  expect(before?.text).toContain('10.96.3.1:80');
  expect(after?.text).toContain('10.96.3.2:80');
  expect(after?.text).not.toContain('10.96.3.1:80');
});

test('a file without routes is as that of deploy/envoy, but for its version', () => {
  const { text, version } = compile().file('a');
  expect(text.replace(version, 'none')).toBe(NO_ROUTES);
});

describe('too large', () => {
  const path = (value: string) => [
    {
      matches: [{ path: { type: 'Exact' as const, value: `/${value}` } }],
      backendRefs: [{ name: 'one', port: 80 }],
    },
  ];
  const many = servicesOf(
    ['giant', 'large', 'small'].map((namespace, index) => serviceAt(`${namespace}/one`, `10.96.2.${index}`)),
  );
  const routes = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      routeFor(`${namespace}/r${index}`, `${namespace}/one`, path(`${index}/${'x'.repeat(900)}`)),
    );
  const heldBy = (file: { readonly text: string }) =>
    ['giant', 'large', 'small'].filter((namespace) => file.text.includes(`"${namespace}/one:80"`));
  const compile = (giant: number, large: number, small = 1) =>
    compileRoutes({
      routes: [...routes('giant', giant), ...routes('large', large), ...routes('small', small)],
      services: many,
    });

  test('a file that would be too large leaves out the namespace with most routes, but for its own clients', () => {
    const compilation = compile(600, 250);
    const file = compilation.file('elsewhere');
    expect(heldBy(file)).toEqual(['large', 'small']);
    expect([...file.leftOut]).toEqual([['giant', expect.any(Number)]]);
    expect(compilation.file('small')).toBe(file);
    expect(heldBy(compilation.file('giant'))).toEqual(['giant', 'small']);
    expect([...compilation.file('giant').leftOut.keys()]).toEqual(['large']);
    expect(Buffer.byteLength(compilation.file('giant').text)).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('a file that would be too large leaves out two namespaces only where one is not enough', () => {
    const compilation = compile(600, 560);
    expect([...compilation.file('elsewhere').leftOut.keys()]).toEqual(['giant']);
    const both = compile(600, 590, 100).file('elsewhere');
    expect([...both.leftOut.keys()]).toEqual(['giant', 'large']);
    expect(heldBy(both)).toEqual(['small']);
  });
});

describe('a share', () => {
  const many = servicesOf(
    ['a/web', 'a/api', 'b/web'].map((key, index) => serviceAt(key, `10.96.3.${index}`)),
  );
  const backends = Array.from({ length: 16 }, () => ({ name: 'web', port: 80 }));
  const matches = (count: number, more: Partial<HTTPRouteMatch> = {}) =>
    Array.from({ length: count }, (_, index) => ({ path: { value: `/${index}` }, ...more }));
  const set = (value: string) => [
    { type: 'RequestHeaderModifier' as const, requestHeaderModifier: { set: [{ name: 'x', value }] } },
  ];
  const honest = (namespace: string) =>
    routeFor(`${namespace}/api`, `${namespace}/web`, [
      { matches: matches(1), backendRefs: backends.slice(0, 1) },
    ]);
  const compile = (...routes: readonly HTTPRoute[]) =>
    compileRoutes({ routes: [...routes, honest('b')], services: many });
  const accepted = (compilation: Compilation, key: string) =>
    compilation.routes.get(key)?.attachments.map((each) => ('missing' in each ? each.reason : 'ports'));

  test.each<[string, HTTPRouteRule[], RegExp]>([
    [
      'a product of matches, backends and filters',
      times(4, () => ({ matches: matches(32), backendRefs: backends, filters: set('%'.repeat(4000)) })),
      /^namespace a has more than 1000000 bytes of routes, .* the routes of Service port a\/api:80, \d{7} bytes/,
    ],
    [
      'what it says',
      times(16, (index) => ({ matches: matches(1), filters: set(`${index}${'x'.repeat(4090)}`) })),
      /^HTTPRoute a\/giant takes 6\d{4} bytes, more than 64000/,
    ],
    [
      'regular expressions',
      [
        {
          matches: times(9, () => ({ headers: [{ name: 'x', type: 'RegularExpression', value: '.{990}' }] })),
        },
      ],
      /^HTTPRoute a\/giant takes 7\d{4} bytes, more than 64000/,
    ],
  ])(
    "a route that exceeds its namespace's share by %s is left out, by name, and nobody else notices",
    (_, rules, why) => {
      const giant = routeFor('a/giant', 'a/api', rules);
      const compilation = compile(giant, honest('a'));
      const [attachment] = compilation.routes.get('a/giant')?.attachments ?? [];
      expect(attachment).toMatchObject({ missing: expect.stringMatching(why), reason: 'RoutesTooLarge' });
      expect(compilation.file('c').text).toBe(compile(honest('a')).file('c').text);
      // As the operator keeps it in memory.
      const kept = compile(withoutLongRules(giant), honest('a'));
      expect(kept.routes.get('a/giant')?.attachments).toEqual([attachment]);
    },
  );

  test('the largest routes are left out until the others have a place, and of one port all or none', () => {
    const large = { matches: matches(100), backendRefs: backends };
    const routes = [
      routeFor('a/one', 'a/web', [large]),
      routeFor('a/two', 'a/web', [large]),
      routeFor('a/three', 'a/web', [{ matches: matches(1) }]),
      routeFor('a/four', 'a/api', [large]),
    ];
    const compilation = compile(...routes);
    for (const key of ['a/one', 'a/two', 'a/three'])
      expect(accepted(compilation, key)).toEqual(['RoutesTooLarge']);
    expect(accepted(compilation, 'a/four')).toEqual(['ports']);
    expect(accepted(compilation, 'b/api')).toEqual(['ports']);
  });

  test('producer routes in place of a Service’s own are left out for these own', () => {
    const giant = routeFor(
      'a/giant',
      'b/web',
      times(3, () => ({ matches: matches(100), backendRefs: backends })),
    );
    const compilation = compile(giant);
    expect(accepted(compilation, 'a/giant')).toEqual(['RoutesTooLarge']);
    expect(compilation.file('a').text).toBe(compilation.file('c').text);
    expect(compilation.file('c').text).toContain('b/api rules[0]');
  });

  test('routes of one namespace that are many and small are not even read', () => {
    const value = 'x'.repeat(4000);
    const rules: HTTPRouteRule[] = times(15, (index) => ({
      matches: matches(1),
      filters: set(`${index}${value}`),
    }));
    const routes = times(500, (index) => routeFor(`a/${index}`, 'a/web', rules));
    const compilation = compile(...routes);
    expect(
      routes.filter((_, index) => compilation.routes.get(`a/${index}`)?.refused.length === 0),
    ).toHaveLength(500);
    expect(Buffer.byteLength(compilation.file('a').text)).toBeLessThan(10_000);
    expect(accepted(compilation, 'b/api')).toEqual(['ports']);
  });

  test('a route is attached to 128 ports at most', () => {
    const ports = times(129, (index) => ({ port: index + 1 }));
    const service = { metadata: { namespace: 'a', name: 'web' }, spec: { clusterIPs: ['10.96.3.0'], ports } };
    const route = routeFor('a/r', 'a/web', [{ matches: matches(1) }]);
    const { routes } = compileRoutes({ routes: [route], services: servicesOf([service]) });
    expect(routes.get('a/r')?.attachments).toEqual([
      {
        reference: route.spec.parentRefs?.[0],
        missing: 'all ports of Service a/web would give this route over 128: set port in the parentRef',
        reason: 'RoutesTooLarge',
      },
    ]);
  });
});

test('no routes are left out of a file that they fit into with the addresses that they have', () => {
  const size = { routes: 1100, services: 500, namespaces: 100 };
  const compilation = compileRoutes({
    routes: times(size.routes, (index) => worldRoute(index, size)),
    services: servicesOf(times(size.services, (index) => worldService(index, size))),
  });
  expect(compilation.file('elsewhere').leftOut).toEqual(new Map());
  expect(compilation.file(worldNamespace(0)).leftOut).toEqual(new Map());
});
