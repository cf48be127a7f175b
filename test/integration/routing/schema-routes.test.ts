import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { type Compilation, compileRoutes } from '../../../src/addons/routes/compile/compile.ts';
import type { RoutedPort } from '../../../src/addons/routes/compile/port-table.ts';
import { keyOf, type Route, routeKey } from '../../../src/addons/routes/compile/route.ts';
import { GATEWAY_APIS } from '../../env/gateway-api-crds.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { NAMES, NAMESPACES, requests, SERVICES } from '../../support/routing/arbitrary-routes.ts';
import { ruleFor } from '../../support/routing/reference-matcher.ts';
import { servicesOf } from '../../support/routing/routes.ts';
import { RoutingLab } from '../../support/routing/routing-lab.ts';
import { aimedAt, calls, schemaRoutes } from '../../support/routing/schema-routes.ts';

/** Sets of routes of all versions together: SCHEMA_ROUTES=1000 takes minutes. */
const NUMBER = Number(process.env.SCHEMA_ROUTES ?? 30);
// A smaller example takes longer to find than it is worth: the first one says all.
const options = { numRuns: Math.ceil(NUMBER / GATEWAY_APIS.length), endOnFailure: true };
jest.setTimeout(Math.max(120_000, NUMBER * 2_000));

/** Envoy answers with the name of the rule, whatever becomes of the request. */
const RULE = 'x-rule-that-matched';
const NAME_RULES = {
  header: { key: RULE, value: '%ROUTE_NAME%' },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
};

describeWithEnvoy('routes by the schemas of the Gateway API in a real Envoy', (envoy) => {
  let lab: RoutingLab;
  const found = { rules: 0, calls: 0, none: 0 };

  beforeAll(async () => {
    lab = await RoutingLab.start(envoy);
  });

  afterAll(async () => {
    await lab?.stop();
  });

  test.each(GATEWAY_APIS.map((pin) => [pin.version, pin] as const))(
    'of %s are accepted, and requests belong to the rules that the Gateway API says',
    async (_, pin) => {
      const services = NAMESPACES.flatMap((namespace, i) =>
        NAMES.map((name, j) => lab.service(namespace, name, 3 * i + j + 1)),
      );
      const parents = services.filter(({ metadata }) => metadata.name !== 'v2');
      const asked = fc.array(
        fc.record({
          any: fc.oneof(requests, calls),
          aim: fc.option(fc.nat(50)),
          to: fc.constantFrom(...parents),
        }),
        {
          minLength: 20,
          maxLength: 20,
        },
      );
      await fc.assert(
        fc.asyncProperty(
          await schemaRoutes(pin, lab.port),
          fc.constantFrom(...NAMESPACES),
          asked,
          async (routes, client, list) => {
            const file = compileRoutes({ routes, services: servicesOf(services) }).file(client);
            const content = JSON.parse(file.text);
            content.resources[0].response_headers_to_add = [NAME_RULES];
            await lab.take(JSON.stringify(content), file.version);
            for (const { any, aim, to } of list) {
              const aimed = aim === null ? undefined : aimedAt(routes, aim, any);
              const request = aimed?.request ?? any;
              const service = services.find((each) => keyOf(each) === aimed?.service) ?? to;
              const destination = { service: keyOf(service), port: lab.port };
              const expected = ruleFor(routes, client, destination, {
                ...request,
                headers: { host: 'a.test', ...request.headers },
              });
              const { status, headers } = await lab.ask(`${service.spec?.clusterIPs?.[0]}:${lab.port}`, {
                ...request,
                headers: Object.entries(request.headers),
              });
              const rule = /^.* rules\[\d+\]$/.exec(headers[RULE] ?? '')?.[0];
              const went = rule ?? (status === 404 ? 'none' : undefined);
              expect({ request, destination, status, went }).toMatchObject({ went: expected });
              found[rule === undefined ? 'none' : rule.startsWith('GRPCRoute ') ? 'calls' : 'rules'] += 1;
            }
          },
        ),
        options,
      );
    },
  );

  test('are not all met by every request, or by none', () => {
    expect(Math.min(...Object.values(found))).toBeGreaterThan(NUMBER);
  });
});

describe('routes by the schemas of the Gateway API', () => {
  test.each(GATEWAY_APIS.map((pin) => [pin.version, pin] as const))(
    'of %s change no rule of another one',
    async (_, pin) => {
      let compared = 0;
      fc.assert(
        fc.property(await schemaRoutes(pin, 80), ([added, ...others]) => {
          if (added === undefined) return;
          const [before, after] = [others, [added, ...others]].map((routes) =>
            compileRoutes({ routes, services: SERVICES }),
          ) as [Compilation, Compilation];
          for (const client of NAMESPACES) {
            for (const port of before.ports(client)) {
              const name = `${port.service}:${port.port}`;
              const same = after.ports(client).find((each) => `${each.service}:${each.port}` === name);
              // Routes of the client's namespace are in the place of others, and GRPCRoutes in that of HTTPRoutes.
              if (same?.isConsumer !== port.isConsumer || isForCalls(same) !== isForCalls(port)) continue;
              expect(rulesIn(after, client, name, added)).toEqual(rulesIn(before, client, name, added));
              compared += 1;
            }
          }
        }),
        { numRuns: Math.max(options.numRuns, 30) },
      );
      expect(compared).toBeGreaterThan(20);
    },
  );
});

/** Whether the rules of a port are of GRPCRoutes. */
function isForCalls({ entries }: RoutedPort): boolean {
  return entries.some(({ match }) => match.call !== undefined);
}

/** What a file has for a port of a Service, in its order, without the rules of one route. */
function rulesIn(compilation: Compilation, client: string, name: string, without: Route): readonly unknown[] {
  const hosts: readonly { readonly name: string; readonly routes: readonly { readonly name: string }[] }[] =
    JSON.parse(compilation.file(client).text).resources[0].virtual_hosts;
  const routes = hosts.find((host) => host.name === name)?.routes ?? [];
  return routes.filter((route) => !route.name.startsWith(`${routeKey(without)} rules[`));
}
