import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import {
  explainRequest,
  explainRoute,
  routeProblems,
} from '../../../../../src/addons/routes/compile/explain.ts';
import type {
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
  ParentReference,
} from '../../../../../src/addons/routes/compile/route.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

const services = servicesOf([serviceAt('shop/echo', '10.96.0.7'), serviceAt('shop/twin', '10.96.0.7')]);
const backendRefs = [{ name: 'echo', port: 80 }];
const prefix = (value: string) => [{ path: { type: 'PathPrefix' as const, value } }];

const problemsOf = (route: HTTPRoute, ...others: readonly HTTPRoute[]) =>
  routeProblems(compileRoutes({ routes: [...others, route], services }), 'shop/r').map(
    ({ reason, message }) => `${reason}: ${message}`,
  );
/** What a later version of the CRD may have. */
const newer = (value: object) => value as never;
const route = (rules: readonly HTTPRouteRule[], more: Partial<ParentReference> = {}) =>
  routeFor('shop/r', 'shop/echo', rules, more);

test('a good route has no problems, and neither has one that does not exist', () => {
  expect(problemsOf(route([{ backendRefs }]))).toEqual([]);
  expect(routeProblems(compileRoutes({ routes: [], services }), 'shop/r')).toEqual([]);
});

// biome-ignore format: a line for each case
test.each<readonly [string, HTTPRoute, readonly string[]]>([
  [
    'a Gateway as the only parent',
    route([{ backendRefs }], { group: 'gateway.networking.k8s.io', kind: 'Gateway' }),
    ['NoServiceParent: sidecars ignore this route: no parentRef has group "" and kind Service'],
  ],
  ['a parent that does not exist', route([{ backendRefs }], { name: 'none' }), ['NoMatchingParent: Service shop/none does not exist']],
  ['a port that does not exist', route([{ backendRefs }], { port: 81 }), ['NoMatchingParent: Service shop/echo has no port 81']],
  [
    'a backend that does not exist',
    route([{ backendRefs: [{ name: 'none', port: 80 }] }]),
    ['BackendNotFound: rules[0].backendRefs[0]: Service shop/none does not exist'],
  ],
  [
    'a filter that is not supported',
    route([{ backendRefs, filters: [newer({ type: 'ExternalAuth', externalAuth: {} })] }]),
    ['UnsupportedValue: rules[0].filters[0].type: the filter "ExternalAuth" is not supported'],
  ],
  [
    'rules without a share',
    route([
      { matches: prefix('/a') },
      { matches: prefix('/b'), backendRefs: [{ name: 'echo', port: 80, weight: 0 }] },
    ]),
    [
      'NoBackend: rules[0]: no backend has a weight above 0, so requests get 500',
      'NoBackend: rules[1]: no backend has a weight above 0, so requests get 500',
    ],
  ],
  [
    'a rule twice',
    route([
      { matches: prefix('/a'), backendRefs },
      { matches: prefix('/a/'), backendRefs },
    ]),
    [
      'RuleNeverMatches: rules[1] gets no request with path below "/a": shop/r rules[0] has the same match and comes first',
    ],
  ],
  [
    'matches that differ late',
    route(['a', 'b'].map((end) => ({ matches: prefix(`/${'x'.repeat(70)}${end}`), backendRefs }))),
    [],
  ],
])('the problems of a route say what is wrong with %s', (_, object, problems) => {
  expect(problemsOf(object)).toEqual(problems);
});

test('the problems of a route name an older route with the same match', () => {
  const older = routeFor('shop/a', 'shop/echo', [{ backendRefs }]);
  expect(problemsOf(route([{ backendRefs }]), older)).toEqual([
    'RuleNeverMatches: rules[0] gets no request with path below "/": shop/a rules[0] has the same match and comes first',
  ]);
});

test('the problems of a route name a Service with the address of another', () => {
  const first = routeFor('shop/a', 'shop/echo', [{ backendRefs }]);
  expect(problemsOf(routeFor('shop/r', 'shop/twin', [{ backendRefs }]), first)).toEqual([
    'AddressTaken: another Service has the same addresses as Service shop/twin port 80',
  ]);
});

test('the problems of a route say that host names are for a Gateway', () => {
  const named = (object: HTTPRoute): HTTPRoute => ({
    ...object,
    spec: { ...object.spec, hostnames: ['a.test'] },
  });
  const both = named(route([{ backendRefs }]));
  expect(problemsOf(both)).toEqual([
    'HostnamesIgnored: hostnames: sidecars ignore them and find the Service by address: match the header Host',
  ]);
  const parentRefs = [...(both.spec.parentRefs ?? []), { name: 'gateway', kind: 'Gateway' }];
  expect(problemsOf({ ...both, spec: { ...both.spec, parentRefs } })).toEqual([]);
});

function compile(...routes: readonly HTTPRoute[]) {
  return compileRoutes({ routes, services });
}

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

test('explainRequest says which rule wins, and why not the others', () => {
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

test('explainRequest says what a request lacks', () => {
  const verdicts = port ? explainRequest(port, { method: 'POST', path: '/a/b', headers: {} }) : [];
  expect(verdicts.map(({ why }) => why)).toEqual(
    expect.arrayContaining(['header x-user="me" is missing', 'query parameter q~"1.*" is missing']),
  );
  expect(verdicts.find(({ wins }) => wins)?.why).toBe('matches path below "/a", method POST');
});

const producer = routeFor('shop/r', 'shop/echo', [{ backendRefs }]);
const consumer = routeFor('office/r', 'shop/echo', [
  { backendRefs: [{ namespace: 'shop', name: 'echo', port: 80 }] },
]);

test('explainRoute says to which clients a route applies', () => {
  expect(explainRoute(compile(producer), 'shop/r')).toEqual([
    'Service shop/echo port 80: applies to clients in all namespaces',
  ]);
  expect(explainRoute(compile(producer, consumer), 'shop/r')).toEqual([
    'Service shop/echo port 80: applies to clients in all namespaces except those with their own routes: office',
  ]);
  expect(explainRoute(compile(producer, consumer), 'office/r')).toEqual([
    'Service shop/echo port 80: applies to clients in office only, instead of the routes in shop',
  ]);
});

test('explainRoute says that a route that does not exist, or is for a Gateway, applies nowhere', () => {
  const gateway = routeFor('shop/g', 'shop/echo', [], { kind: 'Gateway' });
  expect(explainRoute(compile(gateway), 'shop/r')).toEqual([]);
  expect(explainRoute(compile(gateway), 'shop/g')).toEqual([]);
});
