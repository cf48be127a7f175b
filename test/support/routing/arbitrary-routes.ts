import fc from 'fast-check';
import type { RoutingInput } from '../../../src/addons/routes/compile/compile.ts';
import type {
  HTTPBackendRef,
  HTTPRoute,
  HTTPRouteFilter,
  HTTPRouteMatch,
  HTTPRouteRule,
  ParentReference,
  Service,
} from '../../../src/addons/routes/compile/route.ts';
import { servicesOf } from './routes.ts';

/** Few names and values, so that routes meet. */
export const NAMESPACES = ['shop', 'office', 'elsewhere'] as const;
export const NAMES = ['echo', 'v1', 'v2'] as const;
export const PATHS = ['/', '/a', '/a/', '/a/b', '/ab', '/A', '/v1/x', '/a%20b', '/a.b', "/it's(1)+$"];
export const REGEXES = [
  '/v[0-9]+/.*',
  '/a.*',
  '.*b',
  '(?i)/a',
  '[^/]+',
  '/\\w+',
  'x{2,3}|',
  '\\pL+',
  'é+',
  '/$',
];
const BAD_REGEXES = ['(?=a)', '(', 'a{1001}', '\\1', '\\p{Emoji}', '\\x{100}', '', '(a{500}){3}', 'a**'];
export const HEADERS = ['x-a', 'X-A', 'x-b', 'accept', 'host'];
export const QUERY = ['q', 'Q', 'r'];
export const VALUES = ['1', 'two', 'two,3', 'a b', '100%', '%REQ(host)%', 'ü', 'a=b'];

const some = <T>(values: readonly T[]) => fc.constantFrom(...values);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** An object without the keys that are undefined, as the API server gives it. */
function compact<T>(model: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<T> {
  return fc.record(model).map((object) => JSON.parse(JSON.stringify(object)));
}

const value = (name: readonly string[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ name: some(name), value: some(VALUES) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        name: some(name),
        type: fc.constant('RegularExpression'),
        value: some(REGEXES),
      }),
    },
  );
const paths = fc.oneof(
  compact<object>({ type: optional(some(['Exact', 'PathPrefix'])), value: optional(some(PATHS)) }),
  fc.record({ type: fc.constant('RegularExpression'), value: some(REGEXES) }),
);

export const matches: fc.Arbitrary<HTTPRouteMatch> = compact({
  path: optional(paths),
  method: optional(some(['GET', 'POST'])),
  headers: optional(fc.array(value(HEADERS), { maxLength: 2 })),
  queryParams: optional(fc.array(value(QUERY), { maxLength: 2 })),
});

const badMatches: fc.Arbitrary<HTTPRouteMatch> = fc.oneof(
  fc.record({ path: fc.record({ type: fc.constant('RegularExpression'), value: some(BAD_REGEXES) }) }),
  fc.record({ path: fc.record({ type: fc.constant('Glob'), value: fc.constant('/*') }) }),
  fc.record({ path: fc.record({ value: some(['a', '/a?b', '/a#b', '/ü', '']) }) }),
  fc.record({ path: paths, cookies: fc.constant([]) }),
  fc.record({
    path: paths,
    headers: fc.constant([{ name: 'x-a', type: 'RegularExpression', value: '(' }]),
  }),
) as fc.Arbitrary<unknown> as fc.Arbitrary<HTTPRouteMatch>;

export const backends: fc.Arbitrary<HTTPBackendRef> = compact({
  name: some([...NAMES, 'gone', 'headless']),
  namespace: optional(some(NAMESPACES)),
  kind: optional(some(['Service', 'Service', 'Queue'])),
  port: some([80, 80, 80, 81]),
  weight: optional(some([0, 1, 9, 1_000_000])),
});

const changes = compact<object>({
  set: optional(fc.array(fc.record({ name: some(HEADERS), value: some(VALUES) }), { maxLength: 2 })),
  add: optional(
    fc.array(fc.record({ name: some(HEADERS), value: some([...VALUES, '\n']) }), { maxLength: 2 }),
  ),
  remove: optional(
    fc.array(some([...HEADERS, 'x-envoy-initializer-destination', 'a b', '']), { maxLength: 2 }),
  ),
});
const newPath = fc.oneof(
  fc.record({ type: fc.constant('ReplaceFullPath'), replaceFullPath: some([...PATHS, '', '/\\1', '/a?b']) }),
  fc.record({ type: fc.constant('ReplacePrefixMatch'), replacePrefixMatch: some([...PATHS, '', '/a\r\nb']) }),
);
const filter = (type: string, key: string, content: fc.Arbitrary<unknown>) =>
  fc.record({ type: fc.constant(type), [key]: content });

export const filters = fc.oneof(
  filter('RequestHeaderModifier', 'requestHeaderModifier', changes),
  filter('ResponseHeaderModifier', 'responseHeaderModifier', changes),
  filter(
    'RequestMirror',
    'requestMirror',
    compact<object>({ backendRef: backends, percent: optional(some([0, 50])) }),
  ),
  filter(
    'RequestRedirect',
    'requestRedirect',
    compact<object>({
      scheme: optional(some(['http', 'https'])),
      hostname: optional(some(['a.test', 'A', ''])),
      port: optional(some([80, 443, 8080])),
      path: optional(newPath),
      statusCode: optional(some([301, 302, 303, 307, 308, 200])),
    }),
  ),
  filter(
    'URLRewrite',
    'urlRewrite',
    compact<object>({ hostname: optional(some(['a.test'])), path: optional(newPath) }),
  ),
  filter(
    'CORS',
    'cors',
    compact<object>({
      allowOrigins: optional(
        fc.array(some(['*', 'https://*.a.test', 'http://A.test:80', 'ftp://a', 'http://*:81'])),
      ),
      allowMethods: optional(some([['GET', 'PUT'], ['*'], ['a b']])),
      allowHeaders: optional(some([['x-a', 'x-b'], ['*']])),
      exposeHeaders: optional(some([['x-a'], []])),
      maxAge: optional(some([1, 86_400])),
      allowCredentials: optional(fc.boolean()),
    }),
  ),
  filter('ExtensionRef', 'extensionRef', fc.constant({ group: 'a', kind: 'B', name: 'c' })),
  filter('Cache', 'cache', fc.constant({})),
) as fc.Arbitrary<unknown> as fc.Arbitrary<HTTPRouteFilter>;

const rules: fc.Arbitrary<HTTPRouteRule> = compact({
  matches: optional(
    fc.array(fc.oneof({ weight: 6, arbitrary: matches }, { weight: 1, arbitrary: badMatches }), {
      maxLength: 3,
    }),
  ),
  filters: optional(fc.array(filters, { maxLength: 2 })),
  backendRefs: optional(
    fc.array(
      fc
        .tuple(backends, optional(fc.array(filters, { maxLength: 1 })))
        .map(([backend, own]) => ({ ...backend, ...(own && { filters: own }) })),
      { maxLength: 3 },
    ),
  ),
  retry: optional(
    compact<object>({
      attempts: optional(some([0, 1, 5, 1e15])),
      codes: optional(some([[], [500, 503], [200]])),
      backoff: optional(some(['10ms', '0s', '99999h', 'soon'])),
    }),
  ),
  timeouts: optional(
    compact<object>({
      request: optional(some(['10s', '0s', '1h2m3s4ms', 'soon'])),
      backendRequest: optional(some(['1s'])),
    }),
  ),
});

const parents: fc.Arbitrary<ParentReference> = compact({
  group: fc.constant(''),
  kind: fc.constant('Service'),
  name: some([...NAMES, 'gone']),
  namespace: optional(some(NAMESPACES)),
  port: optional(some([80, 8080])),
});

/** Routes of all kinds, valid or not, each with its own name. */
export const manyRoutes: fc.Arbitrary<readonly HTTPRoute[]> = routesOf(rules);
/** Routes with matches that can all be evaluated, and rules of which each has its own backend. */
export function routesOf(rule: fc.Arbitrary<HTTPRouteRule>): fc.Arbitrary<readonly HTTPRoute[]> {
  const route = fc.tuple(
    some(NAMESPACES),
    fc.integer({ min: 1, max: 3 }),
    fc.array(parents, { minLength: 1, maxLength: 2 }),
    fc.array(rule, { minLength: 1, maxLength: 3 }),
  );
  return fc.array(route, { maxLength: 6 }).map((list) =>
    list.map(([namespace, day, parentRefs, ruleList], index) => ({
      metadata: {
        namespace,
        name: `r${index}`,
        generation: 1,
        creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      },
      spec: { parentRefs, rules: ruleList },
    })),
  );
}

/** Nine Services of both families, and some that nothing can be sent to. */
export const SERVICES = servicesOf(
  NAMESPACES.flatMap((namespace, i): readonly Service[] => [
    ...NAMES.map((name, j) => ({
      metadata: { namespace, name },
      spec: {
        clusterIPs: [`10.96.${i}.${j + 1}`, `fd00::${i}:${j + 1}`],
        ports: [{ port: 80 }, { name: 'more', port: 8080, appProtocol: 'kubernetes.io/h2c' }],
      },
    })),
    { metadata: { namespace, name: 'headless' }, spec: { clusterIPs: ['None'], ports: [{ port: 80 }] } },
  ]),
);

export const routingInputs: fc.Arbitrary<RoutingInput> = manyRoutes.map((routes) => ({
  routes,
  services: SERVICES,
}));

/** Requests that often match. */
export const requests = fc.record({
  method: some(['GET', 'GET', 'POST']),
  path: fc
    .tuple(
      some([...PATHS, '/a/b/c', '/v12/', '/b']),
      fc.array(fc.tuple(some(QUERY), some(['1', 'two', 'x', ''])), { maxLength: 2 }),
    )
    .map(
      ([path, query]) => path + (query.length > 0 ? `?${query.map((each) => each.join('=')).join('&')}` : ''),
    ),
  headers: fc.dictionary(some(['x-a', 'x-b', 'accept', 'host']), some(['1', 'two', 'two,3', 'x', 'xx']), {
    maxKeys: 2,
  }),
});
