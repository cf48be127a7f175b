import { expect, test } from '@jest/globals';
import { weightsOf } from '../../../../../src/addons/routes/delivery/metrics.ts';
import { times } from '../../../../support/growth/growing-input.ts';
import { grpcRouteFor, routeFor } from '../../../../support/routing/routes.ts';

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

test('a tenant’s 1,000 routes with names that they make up leave the others theirs', () => {
  const split = [{ backendRefs: [backend('"} 1\n'), backend('\\')] }];
  const routes = [...times(1000, (at) => `bad/r${at}`), 'good/web'].map((key) => routeFor(key, key, split));
  const weights = weightsOf(routes);
  expect(weights).toHaveLength(102);
  expect(weights.at(-1)).toMatchObject({ route: 'good/web rules[0]' });
});
