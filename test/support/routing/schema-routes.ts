import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import type { Request } from '../../../src/addons/routes/compile/explain.ts';
import type {
  GRPCRoute,
  GRPCRouteMatch,
  GRPCRouteRule,
  HTTPRoute,
  HTTPRouteMatch,
  HTTPRouteRule,
  Route,
} from '../../../src/addons/routes/compile/route.ts';
import { gatewayApiCrds } from '../../env/gateway-api-crds.ts';
import type { Pin } from '../../env/go/pins.ts';
import { HEADERS, NAMES, NAMESPACES, PATHS, QUERY, REGEXES, requests, VALUES } from './arbitrary-routes.ts';
import { expression } from './reference-matcher.ts';
import { type Hints, type Schema, valuesOf } from './schema-values.ts';

interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Schema } } };
    }[];
  };
}

/**
 * Up to four routes by the schemas of a version's CRDs, for Services in {@link NAMESPACES} with one port: HTTPRoutes,
 * GRPCRoutes, or both.
 */
export async function schemaRoutes(pin: Pin, port: number): Promise<fc.Arbitrary<readonly Route[]>> {
  const http = await routesOfKind<HTTPRoute>(pin, 'HTTPRoute', [...HTTP_HINTS, ...hintsFor(port)]);
  const grpc = await routesOfKind<GRPCRoute>(pin, 'GRPCRoute', [...GRPC_HINTS, ...hintsFor(port)]);
  const lists = [http, grpc, fc.oneof(http, grpc)].map((route) =>
    fc.array<Route>(route, { minLength: 1, maxLength: 4 }),
  );
  return fc
    .oneof(...lists)
    .map((list) =>
      list.map((route, index) => ({ ...route, metadata: { ...route.metadata, name: `r${index}` } })),
    );
}

async function routesOfKind<T extends Route>(
  pin: Pin,
  kind: 'HTTPRoute' | 'GRPCRoute',
  hints: Hints,
): Promise<fc.Arbitrary<T>> {
  const file = join(await gatewayApiCrds(pin), `gateway.networking.k8s.io_${kind.toLowerCase()}s.yaml`);
  const definition = load(await readFile(file, 'utf8')) as Definition;
  const schema = definition.spec.versions.find(({ name }) => name === 'v1')?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error(`${file}: expected a version v1, got none`);
  const spec = valuesOf({ ...schema.properties.spec, required: ['parentRefs'] }, hints);
  return fc
    .tuple(fc.constantFrom(...NAMESPACES), fc.integer({ min: 1, max: 3 }), spec)
    .map(([namespace, day, spec]) => {
      const creationTimestamp = `2026-01-0${day}T00:00:00Z`;
      return { kind, metadata: { namespace, name: '', generation: 1, creationTimestamp }, spec } as T;
    });
}

const some = (values: readonly unknown[]) => fc.constantFrom(...values);
const CALLED_SERVICES = ['a', 'a.B', 'a.b', 'xx'];
const CALLED_METHODS = ['a', 'B', 'GetA', 'xx'];
const CALL_REGEXES = ['a[^/]*', '[aA]\\.B', '(?i)geta', '\\w+', 'x{2,3}|'];

/** Texts of which each expression but one matches some. */
const EXAMPLES = ['/a', '/v1/x', '/', 'xx', 'b', 'a.B', 'GetA'];

/** A request changed to meet one of the matches of routes, as far as it can; and a Service that this route is for. */
export function aimedAt(
  routes: readonly Route[],
  index: number,
  request: Request,
): { readonly request: Request; readonly service: string } {
  const all = routes.flatMap(({ metadata, spec }) =>
    (spec.rules ?? []).flatMap(({ matches = [{}] }: HTTPRouteRule | GRPCRouteRule) =>
      matches.map((match: HTTPRouteMatch | GRPCRouteMatch) => ({
        match,
        namespace: metadata.namespace,
        parent: spec.parentRefs?.[0],
      })),
    ),
  );
  const { match = {}, namespace, parent } = all[index % all.length] ?? {};
  // Not every value is a host.
  const fields = (match.headers ?? [])
    .map((each) => [each.name.toLowerCase(), textOf(each)] as const)
    .filter(([name]) => name !== 'host');
  const headers = { ...request.headers, ...Object.fromEntries(fields) };
  return {
    request: { ...request, ...(isCall(match) ? callOf(match) : targetOf(match, request)), headers },
    service: `${parent?.namespace ?? namespace}/${parent?.name}`,
  };
}

/** Requests such as calls of gRPC, that often match. */
export const calls: fc.Arbitrary<Request> = fc
  .tuple(fc.constantFrom(...CALLED_SERVICES), fc.constantFrom(...CALLED_METHODS), requests)
  .map(([service, method, request]) => ({ ...request, method: 'POST', path: `/${service}/${method}` }));

function targetOf({ path = {}, method, queryParams = [] }: HTTPRouteMatch, request: Request) {
  const query = queryParams.map((each) => `${each.name}=${textOf(each).replaceAll(' ', '')}`);
  const to = textOf(path);
  return {
    method: method ?? request.method,
    path: [to.startsWith('/') ? to : request.path, query.join('&')].filter(Boolean).join('?'),
  };
}

function callOf({ method: { type = 'Exact', service = 'a', method = 'a' } = {} }: GRPCRouteMatch) {
  return { method: 'POST', path: `/${textOf({ type, value: service })}/${textOf({ type, value: method })}` };
}

function textOf({ type = 'Exact', value = '/' }: { readonly type?: string; readonly value?: string }) {
  return type === 'RegularExpression'
    ? (EXAMPLES.find((text) => expression(value).test(text)) ?? 'x')
    : value.replaceAll(/[^ -~]/g, '');
}

function isCall(match: HTTPRouteMatch | GRPCRouteMatch): match is GRPCRouteMatch {
  return typeof match.method === 'object';
}

const HTTP_HINTS: Hints = [[/matches\[\]\.method$/, some(['GET', 'POST'])]];
const GRPC_HINTS: Hints = [
  [/method<RegularExpression>\.\w+$/, some(CALL_REGEXES)],
  [/method<Exact>\.service$/, some(CALLED_SERVICES)],
  [/method<Exact>\.method$/, some(CALLED_METHODS)],
];

/** Values with which routes meet each other, requests and Services. */
function hintsFor(port: number): Hints {
  const parent = fc.record(
    {
      group: fc.constant(''),
      kind: fc.constant('Service'),
      name: some(['echo', 'echo', 'v1', 'gone']),
      namespace: some(NAMESPACES),
      port: fc.constant(port),
    },
    { requiredKeys: ['group', 'kind', 'name'] },
  );
  return [
    [/^parentRefs$/, fc.array(parent, { minLength: 1, maxLength: 2 })],
    [/path<RegularExpression>\.value$/, some(REGEXES)],
    [/path(<\w+>)?\.(value|replace\w+)$/, some(['/', '/a', '/', '/a', '/a', ...PATHS])],
    [/(headers|queryParams)\[\]<RegularExpression>\.value$/, some(REGEXES)],
    [/queryParams\[\](<\w+>)?\.name$/, some(QUERY)],
    [/(headers|add|set)\[\](<\w+>)?\.name$|remove\[\]$/, some(HEADERS)],
    [/(headers|add|set|queryParams)\[\](<\w+>)?\.value$/, some(VALUES)],
    [/backendRefs?(\[\])?\.group$/, fc.constant('')],
    [/backendRefs?(\[\])?\.kind$/, fc.constant('Service')],
    [/backendRefs?(\[\])?\.name$/, some([...NAMES, ...NAMES, 'gone'])],
    [/backendRefs?(\[\])?\.namespace$/, some(NAMESPACES)],
    [/backendRefs?(\[\])?\.port$/, fc.constant(port)],
    [/allowOrigins\[\]$/, some(['*', 'https://a.test', 'http://*.a.test:8080'])],
    // No answer of the backend takes so long.
    [/timeouts\.\w+$/, some(['0s', '10s', '1h2m3s4ms'])],
  ];
}
