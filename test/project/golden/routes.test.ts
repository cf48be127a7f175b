import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import { explainRoute } from '../../../src/addons/routes/compile/explain.ts';
import { routeProblems } from '../../../src/addons/routes/compile/problems.ts';
import { parentsOf } from '../../../src/addons/routes/compile/status.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';
import { routingInput } from '../../support/routing/routes.ts';

/**
 * Routes as Envoy gets them. `input.yaml` has Services and HTTPRoutes. `expected.json` has the hosts for clients in the
 * namespaces of the routes, and `elsewhere`; and for each route its status and what is said about it.
 */
const FAMILY = 'routes';
const cases = goldenCases(FAMILY);

test.each(cases)('%s', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const input = routingInput(await golden.read('input.yaml'));
  const compilation = compileRoutes(input);
  const namespaces = new Set([...input.routes.map(({ metadata }) => metadata.namespace ?? ''), 'elsewhere']);
  const hosts = [...namespaces].map((namespace) => {
    const [resource] = JSON.parse(compilation.file(namespace).text).resources;
    // The last two are the same in every file.
    return [namespace, resource.virtual_hosts.slice(0, -2)];
  });
  const routes = [...compilation.routes].map(([key, route]) => [
    key,
    {
      says: explainRoute(compilation, key),
      problems: routeProblems(compilation, key),
      parents: parentsOf(route),
    },
  ]);
  const outcome = { clients: Object.fromEntries(hosts), routes: Object.fromEntries(routes) };
  await golden.expect('expected.json', `${JSON.stringify(outcome, null, 2)}\n`);
  await golden.done();
});

test('has cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(15);
});
