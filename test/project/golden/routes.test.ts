import { expect, test } from '@jest/globals';
import { compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import { routeProblems } from '../../../src/addons/routes/compile/explain.ts';
import { parentsOf } from '../../../src/addons/routes/compile/status.ts';
import { GoldenCase, goldenCases } from '../../support/jest/golden-case.ts';
import { routingInput } from '../../support/routing/routes.ts';

/**
 * What is said of routes. `input.yaml` has routes, and Services beside echo, v1 and v2; `expected.txt` has a line for each condition and each
 * problem, by its reason: Envoy itself and the conformance suite say what the files do.
 */
const FAMILY = 'routes';
const cases = goldenCases(FAMILY);

test.each(cases)('the conditions and problems of test/golden/routes/%s are those expected', async (name) => {
  const golden = new GoldenCase(FAMILY, name);
  const compilation = compileRoutes(routingInput(await golden.read('input.yaml')));
  const lines = [...compilation.routes].flatMap(([key, route]) => [
    ...parentsOf(route).flatMap(({ conditions }) =>
      conditions.map(({ type, status, reason }) => `${key} ${type} ${status} ${reason}`),
    ),
    ...routeProblems(compilation, key).map(({ reason, message }) => `${key} ${reason} ${placeIn(message)}`),
  ]);
  await golden.expect('expected.txt', lines.map((line) => `${line.trimEnd()}\n`).join(''));
  await golden.done();
});

/** Messages begin with the place, where they have one. */
function placeIn(message: string): string {
  return /^\w+[[.][^\s:]+/.exec(message)?.[0] ?? '';
}

test('test/golden/routes has cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(10);
});
