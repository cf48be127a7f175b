import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import { grantsOf, type ReferenceGrant } from '../../../../../src/addons/routes/compile/grants.ts';
import type {
  HTTPRoute,
  HTTPRouteRule,
  RouteParentStatus,
} from '../../../../../src/addons/routes/compile/route.ts';
import {
  CONTROLLER_NAME,
  nextParents,
  PROGRAMMED,
  type Programmed,
  parentsOf,
} from '../../../../../src/addons/routes/compile/status.ts';
import { times } from '../../../../support/growth/growing-input.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

const services = servicesOf([serviceAt('shop/echo', '10.96.0.7')]);
const route = routeFor('shop/r', 'shop/echo', [{ backendRefs: [{ name: 'echo', port: 80 }] }]);
const [early, late] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'];

function wanted(object: HTTPRoute = route, programmed?: Programmed) {
  const [compiled] = compileRoutes({ routes: [object], services }).routes.values();
  return compiled ? parentsOf(compiled, programmed) : [];
}

const other: RouteParentStatus = {
  controllerName: 'example.org/gateway',
  parentRef: { name: 'gateway' },
  conditions: [
    { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: early },
  ],
};

test('the next parents of a route are those of other controllers, and ours', () => {
  const next = nextParents([other], wanted(), early);
  expect(next?.map(({ controllerName }) => controllerName)).toEqual([other.controllerName, CONTROLLER_NAME]);
  expect(next?.[0]).toBe(other);
  expect(next?.[1]?.conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
    'Accepted=True',
    'ResolvedRefs=True',
  ]);
});

test('the next parents of a route are undefined if nothing changes', () => {
  const next = nextParents([other], wanted(), early);
  expect(nextParents(next, wanted(), late)).toBeUndefined();
  expect(nextParents(undefined, [], late)).toBeUndefined();
});

test('the next parents of a route have a new time only where the status changes', () => {
  const before = nextParents([], wanted(), early);
  const rules = [{ backendRefs: [{ name: 'gone', port: 80 }] }];
  const next = nextParents(before, wanted({ ...route, spec: { ...route.spec, rules } }), late);
  expect(next?.[0]?.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
    ['Accepted', early],
    ['ResolvedRefs', late],
  ]);
});

test('the next parents of a route are never more than the API server accepts, with those of others first', () => {
  const others = Array.from({ length: 32 }, (_, i) => ({ ...other, controllerName: `example.org/c${i}` }));
  expect(nextParents(others, wanted(), early)).toBeUndefined();
  expect(nextParents(others.slice(1), wanted(), early)).toHaveLength(32);
});

test('the next parents of a route say what keeps routes from sidecars', () => {
  const obstacle = { reason: 'RoutesTooLarge', message: 'they are too large' } as const;
  const conditions = wanted(route, { sidecars: 1, of: 2, obstacle })[0]?.conditions;
  expect(conditions?.at(-1)).toMatchObject({
    type: PROGRAMMED,
    status: 'False',
    reason: 'RoutesTooLarge',
    message: '1 of 2 sidecars: they are too large',
  });
});

test('the next parents of a route leave out a parent that is gone', () => {
  const before = nextParents([other], wanted(), early);
  expect(nextParents(before, wanted({ ...route, spec: { rules: [] } }), late)).toEqual([other]);
});

test.each([
  [{ sidecars: 48, of: 50 }, 'False', 'Pending', '48 of 50 sidecars'],
  [{ sidecars: 50, of: 50 }, 'True', 'Programmed', '50 of 50 sidecars'],
])(
  'the status of a route says how many sidecars have taken it: %j',
  (programmed, status, reason, message) => {
    const [parent] = wanted(route, programmed);
    const type = 'initializer.kubernetes.io/Programmed';
    expect(parent?.conditions).toContainEqual({ type, status, reason, message, observedGeneration: 1 });
  },
);

test('a route that has no parent is not programmed', () => {
  const [parent] = wanted(routeFor('shop/r', 'shop/gone', []), { sidecars: 0, of: 0 });
  expect(parent?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'ResolvedRefs']);
});

const targets = servicesOf([
  serviceAt('shop/web', '10.96.0.1'),
  serviceAt('bank/web', '10.96.0.2'),
  serviceAt('bank/safe', '10.96.0.3'),
]);
const bank = { name: 'web', namespace: 'bank', port: 80 };
const mirrored: readonly HTTPRouteRule[] = [
  {
    backendRefs: [{ name: 'web', port: 80, weight: 3 }, bank],
    filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { ...bank, name: 'safe' } } }],
  },
];
const producer = routeFor('shop/r', 'shop/web', mirrored);

const FROM = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'shop' };
const TO = { group: '', kind: 'Service' };
function grant(
  from: Partial<typeof FROM> = {},
  to: Partial<typeof TO & { name: string }> = {},
): ReferenceGrant {
  return {
    metadata: { namespace: 'bank', name: 'g' },
    spec: { from: [{ ...FROM, ...from }], to: [{ ...TO, ...to }] },
  };
}

/** The file for clients of a namespace, and what the status says of backends. */
function compile(route: HTTPRoute, ...grants: readonly ReferenceGrant[]) {
  const compilation = compileRoutes({ routes: [route], services: targets, grants });
  const [compiled] = compilation.routes.values();
  const conditions = compiled ? (parentsOf(compiled)[0]?.conditions ?? []) : [];
  const resolved = conditions.find(({ type }) => type === 'ResolvedRefs');
  return {
    file: (namespace: string) => compilation.file(namespace).text,
    reason: resolved?.reason,
    message: resolved?.message,
  };
}

test('a route of all clients without a grant answers 500 for the share of the other namespace', () => {
  const { file, reason, message } = compile(producer);
  expect(file('anywhere')).not.toMatch(/10\.96\.0\.[23]/);
  expect(file('anywhere')).toContain('"weight":3');
  expect(reason).toBe('RefNotPermitted');
  expect(message).toMatch(
    /rules\[0\]\.backendRefs\[1\]: .* Service bank\/web.*rules\[0\]\.filters: .* bank\/safe/,
  );
});

test('a route of all clients without a grant does not say whether a Service exists', () => {
  const absent = routeFor('shop/r', 'shop/web', [{ backendRefs: [{ ...bank, name: 'absent' }] }]);
  expect(compile(absent).reason).toBe('RefNotPermitted');
  expect(compile(absent).message).not.toContain('exist');
});

test('a route of all clients with a grant has both backends, and loses what the grant does not name', () => {
  const granted = compile(producer, grant());
  expect(granted.reason).toBe('ResolvedRefs');
  expect(granted.file('anywhere')).toMatch(/10\.96\.0\.2:80[\s\S]*10\.96\.0\.3:80/);
  const one = compile(producer, grant({}, { name: 'web' }));
  expect(one.reason).toBe('RefNotPermitted');
  expect(one.file('anywhere')).toContain('10.96.0.2:80');
  expect(one.file('anywhere')).not.toContain('10.96.0.3:80');
});

test('a route of all clients has no grant that comes after 256 others of its namespace', () => {
  const named = (index: number) => {
    const { spec, metadata } = grant({}, index === 0 ? {} : { name: `${index}` });
    return { spec, metadata: { ...metadata, name: `g${2000 - index}` } };
  };
  expect(compile(producer, ...times(256, named)).reason).toBe('ResolvedRefs');
  expect(compile(producer, ...times(257, named)).reason).toBe('RefNotPermitted');
});

test('a route of all clients needs no grant in its own namespace', () => {
  expect(compile(routeFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'web', port: 80 }] }])).reason).toBe(
    'ResolvedRefs',
  );
});

test('a route of the clients of its own namespace needs no grant', () => {
  const consumer = compile(routeFor('office/r', 'shop/web', mirrored.slice()));
  expect(consumer.reason).not.toBe('RefNotPermitted');
});

test.each([
  ['of another kind', grant({ kind: 'GRPCRoute' })],
  ['of another group', grant({ group: '' })],
  ['for another namespace', grant({ namespace: 'shops' })],
  ['to another kind', grant({}, { kind: 'Secret' })],
  ['to another group', grant({}, { group: 'apps' })],
  ['to another name', grant({}, { name: 'we' })],
  ['in another namespace', { ...grant(), metadata: { namespace: 'banks', name: 'g' } }],
])('a ReferenceGrant %s allows nothing', (_, given) => {
  expect(grantsOf([given])('HTTPRoute', 'shop', 'bank/web')).toBe(false);
  expect(grantsOf([given, grant()])('HTTPRoute', 'shop', 'bank/web')).toBe(true);
});
