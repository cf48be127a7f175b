import { describe, expect, test } from '@jest/globals';
import { type Compilation, compileRoutes } from '../../../src/routing/compile.ts';
import type { HTTPRoute, HTTPRouteRule } from '../../../src/routing/http-route.ts';
import { MAX_BYTES } from '../../../src/routing/left-out.ts';
import { NO_ROUTES } from '../../../src/sidecar/envoy/routed.ts';
import { routeFor, serviceAt, servicesOf } from '../../support/routing/routes.ts';

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

describe('a route', () => {
  const producer = routeFor('shop/producer', 'shop/echo', rules);
  const consumer = routeFor('office/consumer', 'shop/echo', rules);

  test('of the namespace of the Service holds everywhere, but where clients have their own', () => {
    const compilation = compile(producer, consumer);
    expect(routesAt(compilation, 'shop')).toEqual(['shop/echo: shop/producer']);
    expect(routesAt(compilation, 'elsewhere')).toEqual(['shop/echo: shop/producer']);
    expect(routesAt(compilation, 'office')).toEqual(['shop/echo: office/consumer']);
  });

  test('of another namespace holds there alone', () => {
    const compilation = compile(consumer);
    expect(routesAt(compilation, 'office')).toEqual(['shop/echo: office/consumer']);
    expect(routesAt(compilation, 'elsewhere')).toEqual([]);
  });

  test('that names a port twice has its entries once', () => {
    const [reference] = producer.spec.parentRefs ?? [];
    const twice = {
      ...producer,
      spec: { ...producer.spec, parentRefs: [reference, reference].flatMap((r) => r ?? []) },
    };
    expect(routesAt(compile(twice), 'shop')).toEqual(['shop/echo: shop/producer']);
  });

  test('of a Service with the address of another gives it up', () => {
    const compilation = compile(producer, routeFor('shop/other', 'shop/twin', rules));
    expect(routesAt(compilation, 'shop')).toEqual(['shop/echo: shop/producer']);
  });
});

describe('the file', () => {
  test('is one for all namespaces without routes of their own', () => {
    const desk = routeFor('office/desk', 'office/desk', rules);
    const compilation = compile(desk, routeFor('office/consumer', 'shop/echo', rules));
    expect(compilation.file('shop')).toBe(compilation.file('elsewhere'));
    expect(compilation.file('office')).not.toBe(compilation.file('elsewhere'));
  });

  test('has a version that names its content', () => {
    const [none, one, same] = [compile(), compile(routeFor('shop/a', 'shop/echo', rules)), compile()];
    expect(none?.file('a').version).toBe(same?.file('a').version);
    expect(none?.file('a').version).not.toBe(one?.file('a').version);
    expect(one?.file('a').text).toContain(one?.file('a').version);
  });

  test('without routes is as that of deploy/envoy, but for its version', () => {
    const { text, version } = compile().file('a');
    expect(text.replace(version, 'none')).toBe(NO_ROUTES);
  });
});

describe('a file that would be too large', () => {
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
  const compile = (giant: number, large: number) =>
    compileRoutes({
      routes: [...routes('giant', giant), ...routes('large', large), ...routes('small', 1)],
      services: many,
    });

  test('is without the routes of the namespace that has most, except for its own clients', () => {
    const compilation = compile(600, 250);
    const file = compilation.file('elsewhere');
    expect(heldBy(file)).toEqual(['large', 'small']);
    expect([...file.leftOut]).toEqual([['giant', expect.any(Number)]]);
    expect(compilation.file('small')).toBe(file);
    expect(heldBy(compilation.file('giant'))).toEqual(['giant', 'small']);
    expect([...compilation.file('giant').leftOut.keys()]).toEqual(['large']);
    expect(Buffer.byteLength(compilation.file('giant').text)).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('is without those of two namespaces only where one is not enough', () => {
    const compilation = compile(900, 600);
    expect([...compilation.file('elsewhere').leftOut.keys()]).toEqual(['giant']);
    const both = compile(900, 850).file('elsewhere');
    expect([...both.leftOut.keys()]).toEqual(['giant', 'large']);
    expect(heldBy(both)).toEqual(['small']);
  });

  test('keeps what its own clients need, however much that is', () => {
    const compilation = compile(900, 10);
    expect(heldBy(compilation.file('giant'))).toEqual(['giant']);
    expect(Buffer.byteLength(compilation.file('giant').text)).toBeGreaterThan(MAX_BYTES);
  });

  test('is one that has one byte too many', () => {
    const file = (giant: number) => compile(giant, 1).file('small');
    const size = (giant: number) => Buffer.byteLength(file(giant).text);
    const most = 500 + Math.floor((MAX_BYTES - size(500)) / (size(501) - size(500)));
    expect(file(most).leftOut.size).toBe(0);
    expect(size(most)).toBeLessThanOrEqual(MAX_BYTES);
    expect(file(most + 1).leftOut.size).toBe(1);
  });
});
