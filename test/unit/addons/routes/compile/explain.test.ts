import { describe, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import { explainRequest, explainRoute } from '../../../../../src/addons/routes/compile/explain.ts';
import type { HTTPRoute, HTTPRouteMatch } from '../../../../../src/addons/routes/compile/route.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

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
  const producer = routeFor('shop/r', 'shop/echo', [{ backendRefs }]);
  const consumer = routeFor('office/r', 'shop/echo', [
    { backendRefs: [{ namespace: 'shop', name: 'echo', port: 80 }] },
  ]);

  test('says to which clients it applies', () => {
    expect(explainRoute(compile(producer), 'shop/r')).toEqual([
      'Service shop/echo port 80: applies to clients in all namespaces',
    ]);
    expect(explainRoute(compile(producer, consumer), 'shop/r')).toEqual([
      'Service shop/echo port 80: applies to clients in all namespaces except office, which have routes of their own',
    ]);
    expect(explainRoute(compile(producer, consumer), 'office/r')).toEqual([
      'Service shop/echo port 80: applies to clients in office only, instead of the routes in shop',
    ]);
  });

  test('that does not exist, or is for a Gateway, applies nowhere', () => {
    const gateway = routeFor('shop/g', 'shop/echo', [], { kind: 'Gateway' });
    expect(explainRoute(compile(gateway), 'shop/r')).toEqual([]);
    expect(explainRoute(compile(gateway), 'shop/g')).toEqual([]);
  });
});
