import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import type { Request } from '../../../src/addons/routes/compile/explain.ts';
import type { HTTPRoute } from '../../../src/addons/routes/compile/http-route.ts';
import { gatewayApiCrds } from '../../env/gateway-api-crds.ts';
import type { Pin } from '../../env/go/pins.ts';
import { HEADERS, NAMES, NAMESPACES, PATHS, QUERY, REGEXES, VALUES } from './arbitrary-routes.ts';
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

/** Up to four routes by the schema of a version's CRD, for Services in {@link NAMESPACES} with one port. */
export async function schemaRoutes(pin: Pin, port: number): Promise<fc.Arbitrary<readonly HTTPRoute[]>> {
  const crds = await gatewayApiCrds(pin);
  const file = join(crds, 'gateway.networking.k8s.io_httproutes.yaml');
  const definition = load(await readFile(file, 'utf8')) as Definition;
  const schema = definition.spec.versions.find(({ name }) => name === 'v1')?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error(`${file}: expected a version v1, got none`);
  const route = fc.tuple(
    fc.constantFrom(...NAMESPACES),
    fc.integer({ min: 1, max: 3 }),
    valuesOf({ ...schema.properties.spec, required: ['parentRefs'] }, hintsFor(port)) as fc.Arbitrary<
      HTTPRoute['spec']
    >,
  );
  return fc.array(route, { minLength: 1, maxLength: 4 }).map((list) =>
    list.map(([namespace, day, spec], index) => ({
      metadata: {
        namespace,
        name: `r${index}`,
        generation: 1,
        creationTimestamp: `2026-01-0${day}T00:00:00Z`,
      },
      spec,
    })),
  );
}

/** Texts of which each expression but one matches some. */
const EXAMPLES = ['/a', '/v1/x', '/', 'xx', 'b'];

/** A request changed to meet one of the matches of routes, as far as it can; and a Service that this route is for. */
export function aimedAt(
  routes: readonly HTTPRoute[],
  index: number,
  request: Request,
): { readonly request: Request; readonly service: string } {
  const all = routes.flatMap(({ metadata, spec }) =>
    (spec.rules ?? []).flatMap(({ matches = [{}] }) =>
      matches.map((match) => ({ match, namespace: metadata.namespace, parent: spec.parentRefs?.[0] })),
    ),
  );
  const { match = {}, namespace, parent } = all[index % all.length] ?? {};
  const { path, method, headers = [], queryParams = [] } = match;
  const textOf = ({ type = 'Exact', value = '/' }: { readonly type?: string; readonly value?: string }) =>
    type === 'RegularExpression'
      ? (EXAMPLES.find((text) => expression(value).test(text)) ?? 'x')
      : value.replaceAll(/[^ -~]/g, '');
  // Not every value is a host.
  const fields = headers
    .map((each) => [each.name.toLowerCase(), textOf(each)] as const)
    .filter(([name]) => name !== 'host');
  const query = queryParams.map((each) => `${each.name}=${textOf(each).replaceAll(' ', '')}`);
  const to = textOf(path ?? {});
  return {
    request: {
      method: method ?? request.method,
      path: [to.startsWith('/') ? to : request.path, query.join('&')].filter(Boolean).join('?'),
      headers: { ...request.headers, ...Object.fromEntries(fields) },
    },
    service: `${parent?.namespace ?? namespace}/${parent?.name}`,
  };
}

/** Values with which routes meet each other, requests and Services. */
function hintsFor(port: number): Hints {
  const some = (values: readonly unknown[]) => fc.constantFrom(...values);
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
    [/matches\[\]\.method$/, some(['GET', 'POST'])],
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
