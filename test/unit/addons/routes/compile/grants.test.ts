import { describe, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import { grantsOf, type ReferenceGrant } from '../../../../../src/addons/routes/compile/grants.ts';
import type { HTTPRoute, HTTPRouteRule } from '../../../../../src/addons/routes/compile/route.ts';
import { parentsOf } from '../../../../../src/addons/routes/compile/status.ts';
import { times } from '../../../../support/growth/growing-input.ts';
import { routeFor, serviceAt, servicesOf } from '../../../../support/routing/routes.ts';

const services = servicesOf([
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
  const compilation = compileRoutes({ routes: [route], services, grants });
  const [compiled] = compilation.routes.values();
  const conditions = compiled ? (parentsOf(compiled)[0]?.conditions ?? []) : [];
  const resolved = conditions.find(({ type }) => type === 'ResolvedRefs');
  return {
    file: (namespace: string) => compilation.file(namespace).text,
    reason: resolved?.reason,
    message: resolved?.message,
  };
}

describe('a route of all clients', () => {
  test('without a grant has errors for the share of the other namespace, and no mirror there', () => {
    const { file, reason, message } = compile(producer);
    expect(file('anywhere')).not.toMatch(/10\.96\.0\.[23]/);
    expect(file('anywhere')).toContain('"weight":3');
    expect(reason).toBe('RefNotPermitted');
    expect(message).toMatch(
      /rules\[0\]\.backendRefs\[1\]: .* Service bank\/web.*rules\[0\]\.filters: .* bank\/safe/,
    );
  });

  test('says the same of a Service that does not exist', () => {
    const absent = routeFor('shop/r', 'shop/web', [{ backendRefs: [{ ...bank, name: 'absent' }] }]);
    expect(compile(absent).reason).toBe('RefNotPermitted');
    expect(compile(absent).message).not.toContain('exist');
  });

  test('with a grant has both, and loses what the grant does not name', () => {
    const granted = compile(producer, grant());
    expect(granted.reason).toBe('ResolvedRefs');
    expect(granted.file('anywhere')).toMatch(/10\.96\.0\.2:80[\s\S]*10\.96\.0\.3:80/);
    const one = compile(producer, grant({}, { name: 'web' }));
    expect(one.reason).toBe('RefNotPermitted');
    expect(one.file('anywhere')).toContain('10.96.0.2:80');
    expect(one.file('anywhere')).not.toContain('10.96.0.3:80');
  });

  test('with a grant after 256 others of its namespace has none', () => {
    const named = (index: number) => {
      const { spec, metadata } = grant({}, index === 0 ? {} : { name: `${index}` });
      return { spec, metadata: { ...metadata, name: `g${2000 - index}` } };
    };
    expect(compile(producer, ...times(256, named)).reason).toBe('ResolvedRefs');
    expect(compile(producer, ...times(257, named)).reason).toBe('RefNotPermitted');
  });

  test('needs none in its own namespace', () => {
    expect(
      compile(routeFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'web', port: 80 }] }])).reason,
    ).toBe('ResolvedRefs');
  });
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
])('a grant %s allows nothing', (_, given) => {
  expect(grantsOf([given])('HTTPRoute', 'shop', 'bank/web')).toBe(false);
  expect(grantsOf([given, grant()])('HTTPRoute', 'shop', 'bank/web')).toBe(true);
});
