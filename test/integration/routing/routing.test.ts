import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compileRoutes, type RoutingInput } from '../../../src/addons/routes/compile/compile.ts';
import { explainRequest } from '../../../src/addons/routes/compile/explain.ts';
import type {
  HTTPPathModifier,
  HTTPRouteFilter,
  HTTPRouteMatch,
  HTTPRouteRule,
} from '../../../src/addons/routes/compile/route.ts';
import { isArray, isObject, type JsonObject, type JsonValue } from '../../../src/util/json.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { times } from '../../support/growth/growing-input.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { goldenCases } from '../../support/jest/golden-case.ts';
import { matches, NAMESPACES, requests, routingInputs } from '../../support/routing/arbitrary-routes.ts';
import { ENVOY_CONFIGURATIONS } from '../../support/routing/envoy-configurations.ts';
import { routeFor, routingInput, servicesOf } from '../../support/routing/routes.ts';
import { type Asked, RoutingLab } from '../../support/routing/routing-lab.ts';

const expressions = (value: string) =>
  times(16, (index) => ({ name: `h${index}`, type: 'RegularExpression' as const, value }));

describeWithEnvoy('a real Envoy', (envoy) => {
  describe('that only checks', () => {
    let directory: string;

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-routes-'));
    });

    afterAll(() => rm(directory, { recursive: true }));

    /** transparent.json with routes in the place of the file that has them. Rejects if Envoy refuses it. */
    async function validate(text: string): Promise<void> {
      const [resource] = JSON.parse(text).resources;
      const { '@type': _, ...routes } = resource;
      const file = join(directory, 'envoy.json');
      const configuration = withRoutes(ENVOY_CONFIGURATIONS['transparent.json'] ?? {}, routes);
      // The layer of the drain: its directory has to be there.
      await writeFile(file, JSON.stringify(configuration).replaceAll('/etc/envoy/', `${directory}/`));
      await promisify(execFile)(envoy, [
        '--mode',
        'validate',
        '--config-path',
        file,
        '--disable-hot-restart',
      ]);
    }

    test.each(goldenCases('routes'))('Envoy accepts the routes of test/golden/routes/%s', async (name) => {
      const path = join(projectDirectory(), 'test/golden/routes', name, 'input.yaml');
      const input = routingInput(await readFile(path, 'utf8'));
      const compilation = compileRoutes(input);
      for (const namespace of ['office', 'elsewhere']) await validate(compilation.file(namespace).text);
    });

    test('Envoy accepts any generated routes', async () => {
      await fc.assert(
        fc.asyncProperty(routingInputs, fc.constantFrom(...NAMESPACES), async (input, namespace) => {
          await validate(compileRoutes(input).file(namespace).text);
        }),
        { numRuns: 150 },
      );
    });

    test('Envoy refuses routes that are not valid, in the same place', async () => {
      const { text } = compileRoutes({ routes: [], services: new Map() }).file('');
      await validate(text);
      await expect(validate(text.replace('"prefix":"/"', '"safe_regex":{"regex":"("}'))).rejects.toThrow();
    });
  });

  describe('that serves', () => {
    let lab: RoutingLab;
    let echo: string;

    beforeAll(async () => {
      lab = await RoutingLab.start(envoy);
      echo = `127.0.1.1:${lab.port}`;
    });

    afterAll(() => lab?.stop());

    test.each<[string, (index: number) => HTTPRouteRule]>([
      [
        'small expressions',
        (index) => ({ matches: [{ path: { value: `/${index}` }, headers: expressions('a') }] }),
      ],
      ['many short rules', (index) => ({ matches: [{ path: { value: `/${index}` } }] })],
    ])('Envoy has memory for two of the dearest files of routes: of %s', async (_, rule) => {
      const input = (count: number): RoutingInput => ({
        services: services(),
        routes: times(count, (index) => routeFor(`shop/r${index}`, 'shop/echo', [rule(index)])),
      });
      const fits = (count: number) =>
        compileRoutes(input(count))
          .routes.get('shop/r0')
          ?.attachments.every((each) => 'ports' in each);
      let [most, step] = [0, 4096];
      for (; step >= 1; step /= 2) if (fits(most + step)) most += step;
      for (const count of [most, most - 1, most]) await lab.apply(input(count), 'client');
      // The template’s limit is 512 Mi, and connections take memory, too.
      expect(await lab.statistic('server.memory_heap_size')).toBeLessThan(256 * 2 ** 20);
    });

    const at = (number: number) => `::ffff:127.0.1.${number}`;

    /** Services shop/echo, shop/v2 to shop/v9, and one that nobody listens for. */
    function services() {
      const dead = lab.service('shop', 'dead', 10, 1);
      const versions = [2, 3, 4, 5, 6, 7, 8, 9].map((number) => lab.service('shop', `v${number}`, number));
      return servicesOf([lab.service('shop', 'echo', 1), ...versions, dead]);
    }

    const to = (name: string, more: object = {}) => ({ name, port: name === 'dead' ? 1 : lab.port, ...more });

    function apply(...rules: readonly HTTPRouteRule[]) {
      return lab.apply({ routes: [routeFor('shop/r', 'shop/echo', rules)], services: services() }, 'client');
    }

    test('Envoy obeys a change of routes, and goes on with the last ones that were valid', async () => {
      await apply({ backendRefs: [to('v2')] });
      expect((await lab.ask(echo)).seen?.at).toBe(at(2));
      const { version } = await apply({ backendRefs: [to('v3')] });
      expect((await lab.ask(echo)).seen?.at).toBe(at(3));
      const rejections = () => lab.statistic('rds.outbound.update_rejected');
      const before = await rejections();
      const broken = compileRoutes({ routes: [], services: new Map() }).file('').text;
      await lab.write(broken.replace('"path":"/ready"', '"safe_regex":{"regex":"("}'));
      await eventually('Envoy has refused the routes', async () => (await rejections()) > before);
      expect((await lab.ask(echo)).seen?.at).toBe(at(3));
      // Both are in one resource, so a version is never that of routes that are not in use.
      expect(await lab.version()).toBe(version);
    });

    test('Envoy lets a client forge neither destination nor backend', async () => {
      await apply({ backendRefs: [to('v2')] });
      const other = `127.0.1.4:${lab.port}`;
      const forged = [
        'x-envoy-initializer-destination',
        'x-envoy-initializer-mirror',
        'x-envoy-original-dst-host',
      ];
      for (const value of [other, echo, 'readiness', '*']) {
        for (const name of [...forged, 'host']) {
          const headers = [[name, value]] as const;
          const routed = await lab.ask(echo, { headers });
          const direct = await lab.ask(`127.0.1.3:${lab.port}`, { headers });
          expect({ name, value, routed: routed.seen?.at, direct: direct.seen?.at }).toEqual({
            name,
            value,
            routed: at(2),
            direct: at(3),
          });
          expect(routed.seen?.headers).not.toHaveProperty('x-envoy-initializer-destination');
          expect(direct.seen?.headers).not.toHaveProperty('x-envoy-initializer-destination');
        }
      }
    });

    test('Envoy does not send a request elsewhere if its backend has no endpoints', async () => {
      await apply({ backendRefs: [to('dead')] });
      const { status, body } = await lab.ask(echo);
      expect(status).toBe(503);
      expect(body).toContain('retried');
    });

    test('Envoy answers 404 if no rule matches, and 500 for a rule that is invalid', async () => {
      const [some] = [{ value: '/some' }];
      await apply(
        { matches: [{ path: some }], backendRefs: [to('v2')] },
        { matches: [{ path: { value: '/none' } }] },
        { matches: [{ path: { value: '/zero' } }], backendRefs: [to('v2', { weight: 0 })] },
        {
          matches: [{ path: { value: '/filter' } }],
          filters: [{ type: 'ExtensionRef' }],
          backendRefs: [to('v2')],
        },
        {
          matches: [{ path: { type: 'RegularExpression', value: '(' }, method: 'POST' }],
          backendRefs: [to('v2')],
        },
      );
      const statusOf = async (asked: Asked) => (await lab.ask(echo, asked)).status;
      expect(await statusOf({ path: '/other' })).toBe(404);
      for (const path of ['/none', '/zero', '/filter/x']) expect(await statusOf({ path })).toBe(500);
      expect(await statusOf({ path: '/else', method: 'POST' })).toBe(500);
    });

    test('Envoy mirrors to all mirrors, by their share, and the copy is as the request', async () => {
      await apply({
        filters: [
          { type: 'RequestMirror', requestMirror: { backendRef: to('v3') } },
          { type: 'RequestMirror', requestMirror: { backendRef: to('v4'), percent: 0 } },
          { type: 'RequestMirror', requestMirror: { backendRef: to('gone') } },
        ],
        backendRefs: [to('v2')],
      });
      lab.requests.splice(0);
      await lab.ask(echo, { path: '/m', headers: [['x-a', '1']] });
      await eventually('the copy is there', async () => lab.requests.length === 2);
      const [first, second] = [...lab.requests].sort((a, b) => (a.at < b.at ? -1 : 1));
      expect([first?.at, second?.at]).toEqual([at(2), at(3)]);
      expect(second?.headers.host).toBe('a.test');
      expect(Object.keys(second?.headers ?? {}).filter((name) => name.includes('initializer'))).toEqual([]);
    });

    test.each([
      ['/prefix', '/one', '/prefix/two?a=b', '/one/two?a=b'],
      ['/prefix', '/one/', '/prefix/two', '/one/two'],
      ['/prefix', '/one', '/prefix', '/one'],
      ['/prefix', '/one', '/prefix/', '/one/'],
      ['/prefix', '/', '/prefix/two', '/two'],
      ['/prefix', '', '/prefix', '/'],
      ['/prefix', '', '/prefix?a', '/?a'],
      ['/a.b+(c)', '/', '/a.b+(c)/d', '/d'],
      ['/', '/one', '/two', '/one/two'],
      ['/', '/', '/two', '/two'],
    ])(
      'Envoy replaces the prefix %s with "%s": %s is %s',
      async (prefix, replacePrefixMatch, path, expected) => {
        const modifier = { path: { type: 'ReplacePrefixMatch', replacePrefixMatch } } as const;
        await apply({
          matches: [{ path: { value: prefix } }],
          filters: [{ type: 'URLRewrite', urlRewrite: { hostname: 'b.test', ...modifier } }],
          backendRefs: [to('v2')],
        });
        const { seen } = await lab.ask(echo, { path });
        expect([seen?.url, seen?.headers.host]).toEqual([expected, 'b.test']);
        await apply({
          matches: [{ path: { value: prefix } }],
          filters: [{ type: 'RequestRedirect', requestRedirect: modifier }],
        });
        const { status, headers } = await lab.ask(echo, { path, headers: [['Host', 'a.test']] });
        expect([status, headers.location]).toEqual([302, `http://a.test:${lab.port}${expected}`]);
      },
    );

    test('Envoy replaces the whole path and keeps the query', async () => {
      const path = { type: 'ReplaceFullPath', replaceFullPath: '/a%20b' } as const;
      await apply({ filters: [{ type: 'URLRewrite', urlRewrite: { path } }], backendRefs: [to('v2')] });
      expect((await lab.ask(echo, { path: '/x/y?a=/b' })).seen?.url).toBe('/a%20b?a=/b');
      await apply({
        filters: [{ type: 'RequestRedirect', requestRedirect: { path, scheme: 'https', statusCode: 308 } }],
      });
      const { status, headers } = await lab.ask(echo, { path: '/x/y?a=/b', headers: [['Host', 'a.test:1']] });
      expect([status, headers.location]).toEqual([308, 'https://a.test:443/a%20b?a=/b']);
    });

    test('Envoy changes headers as a route has them, of requests and responses', async () => {
      const set = [{ name: 'X-Set', value: '100% %REQ(host)%' }];
      const add = [{ name: 'x-added', value: 'two' }];
      await apply({
        filters: [
          { type: 'RequestHeaderModifier', requestHeaderModifier: { set, add, remove: ['x-gone'] } },
          { type: 'ResponseHeaderModifier', responseHeaderModifier: { set, remove: ['given'] } },
        ],
        backendRefs: [
          to('v2', {
            filters: [
              {
                type: 'RequestHeaderModifier',
                requestHeaderModifier: { set: [{ name: 'x-v', value: '2' }] },
              },
            ],
          }),
        ],
      });
      const { headers, seen } = await lab.ask(echo, {
        headers: [
          ['x-set', 'a'],
          ['x-added', 'one'],
          ['x-gone', 'a'],
        ],
      });
      expect(seen?.headers).toMatchObject({ 'x-set': '100% %REQ(host)%', 'x-added': 'one, two', 'x-v': '2' });
      expect(seen?.headers).not.toHaveProperty('x-gone');
      expect(headers['x-set']).toBe('100% %REQ(host)%');
      expect(headers).not.toHaveProperty('given');
    });

    test.each([{ request: '100ms' }, { backendRequest: '100ms' }])(
      'Envoy answers 504 after the timeout %j',
      async (timeouts) => {
        await apply({ timeouts, backendRefs: [to('v2')] });
        expect((await lab.ask(echo, { path: '/hang' })).status).toBe(504);
      },
    );

    test.each<[HTTPRouteRule['retry'], readonly number[], number, number]>([
      [{ attempts: 3, codes: [500] }, [500, 500], 200, 3],
      [{ attempts: 3, codes: [500] }, [500, 500, 500, 500, 500], 500, 4],
      [{ attempts: 3, codes: [500] }, [503], 503, 1],
      [{ codes: [502, 429] }, [429], 200, 2],
      [{ codes: [502, 429] }, [502, 502], 502, 2],
      [{ attempts: 0, codes: [500] }, [500], 500, 1],
      [{ attempts: 2, codes: [500], backoff: '10ms' }, [500, 500], 200, 3],
      [{ attempts: 2 }, [503], 503, 1],
      [undefined, [503], 503, 1],
    ])(
      'Envoy tries again after %j: answers of %j end with %i after %i requests',
      async (retry, statuses, last, sent) => {
        await apply({ ...(retry && { retry }), backendRefs: [to('v2')] });
        lab.requests.splice(0);
        lab.statuses.splice(0, Infinity, ...statuses);
        const { status } = await lab.ask(echo);
        lab.statuses.splice(0);
        expect([status, lab.requests.length]).toEqual([last, sent]);
      },
    );

    test('Envoy tries again after an attempt that takes too long, and within the time of the request', async () => {
      const timeouts = { backendRequest: '100ms' };
      await apply({ retry: { attempts: 2 }, timeouts, backendRefs: [to('v2')] });
      lab.statuses.splice(0, Infinity, 0);
      expect((await lab.ask(echo)).status).toBe(200);
      await apply({
        retry: { attempts: 100, codes: [500] },
        timeouts: { request: '200ms', backendRequest: '100ms' },
        backendRefs: [to('v2')],
      });
      lab.requests.splice(0);
      expect((await lab.ask(echo, { path: '/hang' })).status).toBe(504);
      expect(lab.requests.length).toBeLessThan(50);
    });

    test('Envoy gives up failed connections at once with 0 attempts, and after as many as there may be', async () => {
      const retries = () => lab.statistic('cluster.routed.upstream_rq_retry$');
      for (const attempts of [0, 2]) {
        await apply({ retry: { attempts }, backendRefs: [to('dead')] });
        const before = await retries();
        expect((await lab.ask(echo)).status).toBe(503);
        expect((await retries()) - before).toBe(attempts);
      }
    });

    const preflight = (origin: string) => ({
      method: 'OPTIONS',
      headers: [
        ['Origin', origin],
        ['Access-Control-Request-Method', 'PUT'],
        ['Access-Control-Request-Headers', 'x-a'],
      ] as const,
    });
    const corsOf = (headers: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(headers).flatMap(([name, value]) =>
          name.startsWith('access-control-') ? [[name.slice('access-control-'.length), value]] : [],
        ),
      );
    const cors = (given: NonNullable<HTTPRouteFilter['cors']>, onBackend = false) => {
      const filters: readonly HTTPRouteFilter[] = [{ type: 'CORS', cors: given }];
      return apply({
        ...(!onBackend && { filters }),
        backendRefs: [to('v2', onBackend ? { filters } : {})],
      });
    };

    test.each([false, true])(
      'Envoy answers preflights of CORS itself (on a backend: %s)',
      async (onBackend) => {
        await cors(
          {
            allowOrigins: ['https://www.foo.test:443', 'http://*.bar.test'],
            allowMethods: ['GET', 'PUT'],
            allowHeaders: ['x-a', 'x-b'],
            exposeHeaders: ['x-c'],
            allowCredentials: true,
            maxAge: 3600,
          },
          onBackend,
        );
        lab.requests.splice(0);
        for (const origin of ['https://www.foo.test', 'http://a.b.bar.test']) {
          const { status, headers } = await lab.ask(echo, preflight(origin));
          expect(status).toBe(200);
          expect(corsOf(headers)).toEqual({
            'allow-origin': origin,
            'allow-methods': 'GET,PUT',
            'allow-headers': 'x-a,x-b',
            'expose-headers': 'x-c',
            'allow-credentials': 'true',
            'max-age': '3600',
          });
        }
        for (const origin of [
          'http://www.foo.test',
          'https://a.bar.test',
          'http://bar.test',
          'http://a.bar.test:81',
        ]) {
          const { status, headers } = await lab.ask(echo, preflight(origin));
          expect([origin, status, corsOf(headers)['allow-origin']]).toEqual([origin, 200, undefined]);
        }
        expect(lab.requests).toEqual([]);
        const { headers, seen } = await lab.ask(echo, { headers: [['Origin', 'https://www.foo.test']] });
        expect([headers['access-control-allow-origin'], seen?.at]).toEqual(['https://www.foo.test', at(2)]);
        const other = await lab.ask(echo, { headers: [['Origin', 'https://other.test']] });
        expect([corsOf(other.headers), other.seen?.at]).toEqual([{}, at(2)]);
      },
    );

    test.each([false, true])(
      'Envoy answers CORS with stars, and credentials: %s',
      async (allowCredentials) => {
        await cors({
          allowOrigins: ['*'],
          allowMethods: ['*'],
          allowHeaders: ['*'],
          exposeHeaders: ['*'],
          allowCredentials,
        });
        const { headers } = await lab.ask(echo, preflight('https://any.test'));
        expect(corsOf(headers)).toEqual({
          'allow-origin': 'https://any.test',
          'allow-methods': 'PUT',
          'allow-headers': 'x-a',
          'max-age': '5',
          ...(allowCredentials ? { 'allow-credentials': 'true' } : { 'expose-headers': '*' }),
        });
      },
    );

    test('Envoy rewrites requests to each backend in its own way', async () => {
      const rewrite = (hostname: string, path?: HTTPPathModifier) => ({
        filters: [{ type: 'URLRewrite', urlRewrite: { hostname, ...(path && { path }) } }],
      });
      const prefix = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/two' } as const;
      const full = { type: 'ReplaceFullPath', replaceFullPath: '/three' } as const;
      await apply({
        matches: [{ path: { value: '/a' } }],
        backendRefs: [
          to('v2', { weight: 6, ...rewrite('v2.test', prefix) }),
          to('v3', { weight: 3, ...rewrite('v3.test', full) }),
          to('v4', { weight: 2, ...rewrite('v4.test') }),
          to('gone'),
        ],
      });
      const counts = new Map<string, number>();
      for (let i = 0; i < 600; i++) {
        const { status, seen } = await lab.ask(echo, { path: '/a/b' });
        const key = seen ? `${seen.at.slice(-1)} ${seen.headers.host}${seen.url}` : `${status}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      const shares = { '2 v2.test/two/b': 300, '3 v3.test/three': 150, '4 v4.test/a/b': 100, 500: 50 };
      expect([...counts.keys()].sort()).toEqual(Object.keys(shares).sort());
      // Six standard deviations.
      for (const [key, share] of Object.entries(shares)) {
        expect(Math.abs((counts.get(key) ?? 0) - share)).toBeLessThan(
          6 * Math.sqrt(share * (1 - share / 600)),
        );
      }
    });

    test('Envoy finds the host by an address of IPv6', async () => {
      const six = {
        metadata: { namespace: 'shop', name: 'six' },
        spec: { clusterIPs: ['fd00::7', '::1'], ports: [{ port: lab.port }] },
      };
      const back = {
        metadata: { namespace: 'shop', name: 'back' },
        spec: { clusterIPs: ['::1'], ports: [{ port: lab.port }] },
      };
      const input: RoutingInput = {
        routes: [routeFor('shop/r', 'shop/six', [{ backendRefs: [{ name: 'back', port: lab.port }] }])],
        services: servicesOf([six, back]),
      };
      await lab.apply(input, 'client');
      expect((await lab.ask(`[fd00::7]:${lab.port}`)).seen?.at).toBe('::1');
    });

    test('Envoy sends generated requests where explainRequest says', async () => {
      const found = new Map<string, number>();
      const ruleMatches = fc.array(fc.array(matches, { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(
          ruleMatches,
          fc.array(requests, { minLength: 10, maxLength: 10 }),
          async (lists, asked) => {
            const rules = lists.map(
              (each: readonly HTTPRouteMatch[], index): HTTPRouteRule => ({
                matches: each,
                backendRefs: [to(`v${index + 2}`)],
              }),
            );
            const input = { routes: [routeFor('shop/r', 'shop/echo', rules)], services: services() };
            await lab.apply(input, 'client');
            const [port] = compileRoutes(input).ports('client');
            for (const request of asked) {
              const verdicts = port
                ? explainRequest(port, { ...request, headers: { host: 'a.test', ...request.headers } })
                : [];
              const winner = verdicts.find(({ wins }) => wins)?.entry.rule;
              const { status, seen } = await lab.ask(echo, {
                ...request,
                headers: Object.entries(request.headers),
              });
              expect({ request, lists, went: seen?.at ?? status }).toEqual({
                request,
                lists,
                went: winner === undefined ? 404 : at(winner + 2),
              });
              const kind = winner === undefined ? 'none' : 'some';
              found.set(kind, (found.get(kind) ?? 0) + 1);
            }
          },
        ),
        { numRuns: 60 },
      );
      expect(Math.min(found.get('none') ?? 0, found.get('some') ?? 0)).toBeGreaterThan(30);
    });
  });
});

/** The value with a configuration in the place of each reference to the file of routes. */
function withRoutes(value: JsonValue, routes: JsonObject): JsonObject {
  const visit = (each: JsonValue): JsonValue => {
    if (isArray(each)) return each.map(visit);
    if (!isObject(each)) return each;
    return Object.fromEntries(
      Object.entries(each).map(([key, item]) =>
        key === 'rds' ? ['route_config', routes] : [key, visit(item)],
      ),
    );
  };
  const visited = visit(value);
  return isObject(visited) ? visited : {};
}
