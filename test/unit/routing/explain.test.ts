import { describe, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../src/routing/compile.ts';
import { explainRequest, explainRoute } from '../../../src/routing/explain.ts';
import type { HTTPRoute, HTTPRouteMatch } from '../../../src/routing/http-route.ts';
import { routeFor, serviceAt, servicesOf } from '../../support/routes.ts';

const services = servicesOf([serviceAt('shop/echo', '10.96.0.7'), serviceAt('shop/twin', '10.96.0.7')]);
const backendRefs = [{ name: 'echo', port: 80 }];

function compile(...routes: readonly HTTPRoute[]) {
  return compileRoutes({ routes, services });
}

describe('a request', () => {
  const matches: readonly HTTPRouteMatch[] = [
    { path: { type: 'Exact', value: '/a' } },
    { path: { type: 'RegularExpression', value: '/v[0-9]+' } },
    { path: { value: '/a' }, method: 'POST' },
    { path: { value: '/a' }, headers: [{ name: 'X-User', value: 'me' }] },
    { path: { value: '/a' }, queryParams: [{ name: 'q', type: 'RegularExpression', value: '1.*' }] },
    { path: { value: '/a' } },
    {},
  ];
  const [port] = compile(
    routeFor(
      'shop/r',
      'shop/echo',
      matches.map((each) => ({ matches: [each], backendRefs })),
    ),
  ).ports('x');

  test('is told what wins, and why not the others', () => {
    const verdicts = port
      ? explainRequest(port, { method: 'GET', path: '/a/b?q=2', headers: { 'x-user': 'you' } })
      : [];
    expect(verdicts.map(({ entry, wins, why }) => `${entry.rule} ${wins}: ${why}`)).toEqual([
      '0 false: path is "/a/b", not "/a"',
      '1 false: path is "/a/b", not a match of "/v[0-9]+"',
      '2 false: method is GET, not POST',
      '3 false: header x-user is "you", not "me"',
      '4 false: query parameter q is "2", not a match of "1.*"',
      '5 true: matches path below "/a"',
      '6 false: comes after shop/r rules[5]',
    ]);
  });

  test('is told what it lacks', () => {
    const verdicts = port ? explainRequest(port, { method: 'POST', path: '/a/b', headers: {} }) : [];
    expect(verdicts.map(({ why }) => why)).toEqual(
      expect.arrayContaining([
        'header x-user is missing: "me"',
        'query parameter q is missing: a match of "1.*"',
      ]),
    );
    expect(verdicts.find(({ wins }) => wins)?.why).toBe('matches path below "/a", method POST');
  });
});

describe('a route', () => {
  test('that does not exist, or is not for sidecars', () => {
    const gateway = routeFor('shop/g', 'shop/echo', [], {
      group: 'gateway.networking.k8s.io',
      kind: 'Gateway',
    });
    expect(explainRoute(compile(gateway), 'shop/r')).toEqual(['HTTPRoute shop/r does not exist']);
    expect(explainRoute(compile(gateway), 'shop/g')).toEqual([
      'does nothing in sidecars: no parentRef has group "" and kind Service',
    ]);
  });

  test('whose Service has the address of another', () => {
    const [a, b] = ['echo', 'twin'].map((name) =>
      routeFor(`shop/${name}`, `shop/${name}`, [{ backendRefs }]),
    );
    const compilation = a && b && compile(a, b);
    expect(compilation && explainRoute(compilation, 'shop/twin')).toEqual([
      'holds nowhere: another Service has the addresses of Service shop/twin port 80',
    ]);
  });
});
