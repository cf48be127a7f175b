import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Compilation, compileRoutes } from '../../../../../src/addons/routes/compile/compile.ts';
import { bytesOfEntries, expressionBytes } from '../../../../../src/addons/routes/compile/entry-bytes.ts';
import { explainRequest } from '../../../../../src/addons/routes/compile/explain.ts';
import { FAULT_REASONS } from '../../../../../src/addons/routes/compile/findings.ts';
import type { Entry } from '../../../../../src/addons/routes/compile/model.ts';
import { isAmong } from '../../../../../src/addons/routes/compile/port-table.ts';
import type { HTTPRouteRule } from '../../../../../src/addons/routes/compile/route.ts';
import { emptyHostBytes, portHost } from '../../../../../src/addons/routes/compile/route-configuration.ts';
import {
  manyRoutes,
  NAMESPACES,
  requests,
  routingInputs,
  SERVICES,
} from '../../../../support/routing/arbitrary-routes.ts';
import { routeFor } from '../../../../support/routing/routes.ts';

interface Host {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly {
    readonly name: string;
    readonly match: {
      readonly runtime_fraction?: { readonly default_value: { readonly numerator: number } };
    };
    readonly route?: {
      readonly weighted_clusters: { readonly clusters: readonly { readonly weight: number }[] };
    };
    readonly direct_response?: { readonly status: number };
  }[];
}

function hostsOf(compilation: Compilation, namespace: string): readonly Host[] {
  return JSON.parse(compilation.file(namespace).text).resources[0].virtual_hosts;
}

/** All that a file has, read: two functions are never equal. */
function contentOf(compilation: Compilation | undefined, namespace: string) {
  return { ...compilation?.file(namespace) };
}

function oneMatchEach(rule: HTTPRouteRule): readonly HTTPRouteRule[] {
  return (rule.matches ?? []).map((match) => ({ ...rule, matches: [match] }));
}

function patternsIn({ match: { path, headers, queryParams } }: Entry): readonly string[] {
  return [
    ...(path.type === 'RegularExpression' ? [path.value] : []),
    ...[...headers, ...queryParams].flatMap(({ isRegex, value }) => (isRegex ? value : [])),
  ];
}

/** Whether the rule of an entry has matches without a meaning. */
function isUnclear({ routes }: Compilation, { route, rule }: Entry): boolean {
  const faults = routes.get(route)?.faults ?? [];
  return faults.some(({ path }) => path.startsWith(`rules[${rule}].matches`));
}

test('the order of routes does not matter', () => {
  fc.assert(
    fc.property(manyRoutes, fc.infiniteStream(fc.nat()), (routes, numbers) => {
      const shuffled = routes
        .map((route) => ({ route, at: numbers.next().value }))
        .sort((a, b) => a.at - b.at)
        .map(({ route }) => route);
      const [a, b] = [routes, shuffled].map((list) => compileRoutes({ routes: list, services: SERVICES }));
      for (const namespace of NAMESPACES) expect(contentOf(a, namespace)).toEqual(contentOf(b, namespace));
    }),
    { numRuns: 200 },
  );
});

test('the host for all else comes last, and no address has two hosts', () => {
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const namespace of NAMESPACES) {
        const hosts = hostsOf(compilation, namespace);
        expect(hosts.at(-1)?.domains).toEqual(['*']);
        const domains = hosts.flatMap((host) => host.domains);
        expect(new Set(domains).size).toBe(domains.length);
      }
    }),
  );
});

test('a route holds where it has entries, and a file has the bytes that it says', () => {
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const namespace of NAMESPACES) {
        const { text, bytes } = compilation.file(namespace);
        expect(bytes).toBe(Buffer.byteLength(text));
        const held = new Set(
          compilation.ports(namespace).flatMap(({ entries }) => entries.map(({ route }) => route)),
        );
        for (const route of compilation.routes.keys()) {
          expect([route, isAmong(namespace, compilation.clients(route))]).toEqual([route, held.has(route)]);
        }
      }
    }),
  );
});

test('a host has no more bytes than were reckoned before it was written, and not far fewer', () => {
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const port of compilation.ports('shop')) {
        const { bytes } = portHost(port, port.entries, () => '10.96.0.1:80');
        const most = emptyHostBytes(port) + bytesOfEntries(port.entries);
        expect(most).toBeGreaterThanOrEqual(bytes);
        // Addresses may be longer and backends fewer, and expressions count more than their text: each time that an
        // entry is written, once for each of its backends with filters.
        const { length: backends = 0 } = JSON.stringify(port.entries).match(/"(?:service|broken)"/g) ?? [];
        const cost = port.entries.flatMap(patternsIn).reduce((sum, each) => sum + expressionBytes(each), 0);
        const slack = (1_000 * port.entries.length + cost) * (1 + backends);
        expect(most - bytes).toBeLessThanOrEqual(slack);
      }
    }),
  );
});

test('the weights of a compiled rule are those of its backends', () => {
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const route of hostsOf(compilation, 'shop').flatMap((host) => host.routes)) {
        const [, key = '', rule] = /^(.*) rules\[(\d+)\]$/.exec(route.name ?? '') ?? [];
        const written = compilation.routes.get(key)?.object.spec.rules?.[Number(rule)]?.backendRefs ?? [];
        const weights = route.route?.weighted_clusters?.clusters.map(({ weight }) => weight);
        // Of a backend with a path of its own, the weight is in the match.
        if (weights && !route.match.runtime_fraction)
          expect(weights).toEqual(written.map(({ weight = 1 }) => weight).filter((weight) => weight > 0));
      }
    }),
  );
});

test('a route holds for clients of its own namespace, or is in that of the Service', () => {
  let consumers = 0;
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const client of NAMESPACES) {
        for (const { name, routes } of hostsOf(compilation, client).slice(0, -2)) {
          const [owner] = name.split('/');
          const namespaces = new Set(routes.map((route) => route.name.split('/')[0]));
          // All are of one kind.
          expect([[client], [owner]]).toContainEqual([...namespaces]);
          if (!namespaces.has(owner)) consumers += 1;
        }
      }
    }),
  );
  expect(consumers).toBeGreaterThan(50);
});

test('every match of every rule of a route is compiled, and an invalid rule answers 500', () => {
  fc.assert(
    fc.property(routingInputs, (input) => {
      const compilation = compileRoutes(input);
      for (const [key, { object, attachments, faults, refused }] of compilation.routes) {
        const hosts = hostsOf(compilation, object.metadata.namespace ?? '');
        const written = (object.spec.rules ?? []).map(({ matches }) => matches?.length || 1);
        const ports = attachments.flatMap((each) => ('ports' in each ? each.ports : []));
        for (const { service, port } of ports) {
          const all = hosts.find(({ name }) => name === `${service}:${port}`)?.routes ?? [];
          for (const [index, count] of written.entries()) {
            // What is left of the last one: others have the shares of backends that have a path of their own.
            const own = all.filter(
              ({ name, match: { runtime_fraction: part } }) =>
                name === `${key} rules[${index}]` &&
                (part?.default_value.numerator ?? 1_000_000) === 1_000_000,
            );
            expect(own).toHaveLength(count);
            const isRefused = own.every(({ direct_response }) => direct_response?.status === 500);
            if (refused.includes(index)) expect(isRefused).toBe(true);
          }
        }
        // What the rule says as a whole, and not one backend or match.
        const wrong = faults.filter(
          ({ reason, path }) =>
            FAULT_REASONS[reason] === 'Accepted' && /^rules\[\d+\]\.(filters|timeouts)/.test(path),
        );
        for (const { path } of wrong) expect(refused).toContain(Number(/\d+/.exec(path)?.[0]));
      }
    }),
    { numRuns: 200 },
  );
});

test('a route takes requests from others by its valid matches alone', () => {
  let changed = 0;
  fc.assert(
    fc.property(manyRoutes, requests, (anyRoutes, request) => {
      const routes = anyRoutes.map(({ metadata, spec: { rules = [] } }) =>
        routeFor(`shop/${metadata.name}`, 'shop/echo', rules.flatMap(oneMatchEach)),
      );
      const [added, ...others] = routes;
      const [before, after] = [others, routes].map((list) =>
        compileRoutes({ routes: list, services: SERVICES }),
      );
      for (const port of before?.ports('shop') ?? []) {
        const same = after
          ?.ports('shop')
          .find((each) => each.service === port.service && each.port === port.port);
        const winner = explainRequest(port, request).find(({ wins }) => wins)?.entry;
        const next = same && explainRequest(same, request).find(({ wins }) => wins)?.entry;
        if (winner === undefined) continue;
        const isTaken = next?.route === `shop/${added?.metadata.name}`;
        if (isTaken) changed += 1;
        else expect(next).toEqual(winner);
        // Whoever has no meaning takes nothing from a match that has one.
        if (isTaken && after && isUnclear(after, next)) expect(isUnclear(after, winner)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
  expect(changed).toBeGreaterThan(20);
});
