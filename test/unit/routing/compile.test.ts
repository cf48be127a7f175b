import { describe, expect, test } from '@jest/globals';
import { type Compilation, compileRoutes } from '../../../src/routing/compile.ts';
import type { HTTPRoute, HTTPRouteRule } from '../../../src/routing/http-route.ts';
import { NO_ROUTES } from '../../../src/sidecar/envoy/routed.ts';
import { routeFor, serviceAt, servicesOf } from '../../support/routes.ts';

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
