import { describe, expect, test } from '@jest/globals';
import { compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import type { HTTPRoute, RouteParentStatus } from '../../../../../src/addons/routes/compile/route.ts';
import {
  CONTROLLER_NAME,
  nextParents,
  PROGRAMMED,
  type Programmed,
  parentsOf,
} from '../../../../../src/addons/routes/compile/status.ts';
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

describe('the next parents', () => {
  test('are those of other controllers, and ours', () => {
    const next = nextParents([other], wanted(), early);
    expect(next?.map(({ controllerName }) => controllerName)).toEqual([
      other.controllerName,
      CONTROLLER_NAME,
    ]);
    expect(next?.[0]).toBe(other);
    expect(next?.[1]?.conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Accepted=True',
      'ResolvedRefs=True',
    ]);
  });

  test('are undefined if nothing changes', () => {
    const next = nextParents([other], wanted(), early);
    expect(nextParents(next, wanted(), late)).toBeUndefined();
    expect(nextParents(undefined, [], late)).toBeUndefined();
  });

  test('have a new time only where the status changes', () => {
    const before = nextParents([], wanted(), early);
    const rules = [{ backendRefs: [{ name: 'gone', port: 80 }] }];
    const next = nextParents(before, wanted({ ...route, spec: { ...route.spec, rules } }), late);
    expect(next?.[0]?.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['Accepted', early],
      ['ResolvedRefs', late],
    ]);
  });

  test('are never more than the API server accepts, and those of others come first', () => {
    const others = Array.from({ length: 32 }, (_, i) => ({ ...other, controllerName: `example.org/c${i}` }));
    expect(nextParents(others, wanted(), early)).toBeUndefined();
    expect(nextParents(others.slice(1), wanted(), early)).toHaveLength(32);
  });

  test('say what keeps routes from sidecars', () => {
    const obstacle = { reason: 'RoutesTooLarge', message: 'they are too large' } as const;
    const conditions = wanted(route, { sidecars: 1, of: 2, obstacle })[0]?.conditions;
    expect(conditions?.at(-1)).toMatchObject({
      type: PROGRAMMED,
      status: 'False',
      reason: 'RoutesTooLarge',
      message: '1 of 2 sidecars: they are too large',
    });
  });

  test('leave out a parent that is gone', () => {
    const before = nextParents([other], wanted(), early);
    expect(nextParents(before, wanted({ ...route, spec: { rules: [] } }), late)).toEqual([other]);
  });
});

test.each([
  [{ sidecars: 48, of: 50 }, 'False', 'Pending', '48 of 50 sidecars'],
  [{ sidecars: 50, of: 50 }, 'True', 'Programmed', '50 of 50 sidecars'],
])('says how many sidecars have taken it: %j', (programmed, status, reason, message) => {
  const [parent] = wanted(route, programmed);
  const type = 'initializer.kubernetes.io/Programmed';
  expect(parent?.conditions).toContainEqual({ type, status, reason, message, observedGeneration: 1 });
});

test('a route that has no parent is not programmed', () => {
  const [parent] = wanted(routeFor('shop/r', 'shop/gone', []), { sidecars: 0, of: 0 });
  expect(parent?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'ResolvedRefs']);
});
