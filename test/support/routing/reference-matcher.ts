import type { Request } from '../../../src/addons/routes/compile/explain.ts';
import type {
  GRPCRoute,
  GRPCRouteMatch,
  HTTPRoute,
  HTTPRouteMatch,
  HTTPValueMatch,
  Route,
} from '../../../src/addons/routes/compile/route.ts';

/** A port of a Service that a client sends to. */
interface Destination {
  readonly service: string;
  readonly port: number;
}

/** One match of one rule, with all that the order depends on. */
interface Candidate {
  readonly rule: string;
  readonly takes: (request: Request) => boolean;
  readonly rank: readonly (number | string)[];
}

/** What one kind of routes makes of a match, and how specific it is. */
type Reading<M> = (match: M) => {
  readonly takes: (request: Request) => boolean;
  readonly rank: readonly number[];
};

/**
 * Which rule a request belongs to, by what the Gateway API says and nothing of what this program is made of: such as
 * `shop/route rules[0]` or `GRPCRoute shop/route rules[0]`; `none` if the Service has routes and no rule matches; undefined
 * if it has no routes for the client.
 */
export function ruleFor(
  routes: readonly Route[],
  client: string,
  destination: Destination,
  request: Request,
): string | undefined {
  const attached = routes.filter((route) => isAttached(route, destination));
  const [owner] = destination.service.split('/');
  const of = (namespace: string | undefined) =>
    attached.filter(({ metadata }) => metadata.namespace === namespace);
  // Routes of the client's own namespace are in the place of those of the Service's.
  const consumers = of(client);
  const valid = consumers.length > 0 ? consumers : of(owner);
  if (valid.length === 0) return undefined;
  // Of one port, one kind of routes applies.
  const calls = valid.filter(isGrpc);
  const http = valid.filter((route) => !isGrpc(route)) as readonly HTTPRoute[];
  const candidates =
    calls.length > 0
      ? calls.flatMap((route) => candidatesOf(route, route.spec.rules, 'GRPCRoute ', readCall))
      : http.flatMap((route) => candidatesOf(route, route.spec.rules, '', readMatch));
  const found = candidates.filter(({ takes }) => takes(request));
  return found.sort((a, b) => compareRanks(a.rank, b.rank))[0]?.rule ?? 'none';
}

/** A route with a list of rules that is empty, which the CRD forbids since 1.6, says nothing. */
function isAttached({ metadata, spec }: Route, { service, port }: Destination): boolean {
  if (spec.rules?.length === 0) return false;
  return (spec.parentRefs ?? []).some(
    (parent) =>
      parent.kind === 'Service' &&
      `${parent.namespace ?? metadata.namespace}/${parent.name}` === service &&
      (parent.port ?? port) === port,
  );
}

const isGrpc = (route: Route): route is GRPCRoute => route.kind === 'GRPCRoute';

function candidatesOf<M>(
  { metadata }: Route,
  rules: readonly { readonly matches?: readonly M[] }[] = [{}],
  kind: string,
  read: Reading<M | Record<never, never>>,
): readonly Candidate[] {
  const key = `${kind}${metadata.namespace}/${metadata.name}`;
  return rules.flatMap(({ matches: given = [] }, index) =>
    (given.length > 0 ? given : [{}]).map((match, at): Candidate => {
      const { takes, rank } = read(match);
      const age = metadata.creationTimestamp ?? '';
      return { rule: `${key} rules[${index}]`, takes, rank: [...rank, age, key, index, at] };
    }),
  );
}

const readMatch: Reading<HTTPRouteMatch> = (match) => {
  const { type = 'PathPrefix', value = '/' } = match.path ?? {};
  const length = type === 'PathPrefix' ? Math.max(withoutSlashes(value).length, 1) : value.length;
  const rank = [
    ['Exact', 'RegularExpression', 'PathPrefix'].indexOf(type),
    -length,
    match.method === undefined ? 1 : 0,
    -firstOfEach(match.headers, (name) => name.toLowerCase()).length,
    -firstOfEach(match.queryParams, (name) => name).length,
  ];
  return { takes: (request) => matches(match, request), rank };
};

/** The path of a call is `/service/method`. */
const readCall: Reading<GRPCRouteMatch> = ({ method: given = {}, headers = [] }) => {
  const { type = 'Exact', service = '', method = '' } = given;
  const isMet = (wanted: string, found: string) => {
    if (wanted === '') return found !== '';
    return type === 'Exact' ? found === wanted : expression(wanted).test(found);
  };
  const takes = (request: Request) => {
    const [path = ''] = request.path.split('?');
    const [, called = '', by = ''] = path.split('/');
    // What is no call belongs to its service, too.
    const isByService = type === 'Exact' && method === '';
    const isCalled = isByService
      ? service === '' || called === service
      : path.split('/').length === 3 && isMet(service, called) && isMet(method, by);
    return isCalled && headersMatch(headers, request);
  };
  const count = firstOfEach(headers, (name) => name.toLowerCase()).length;
  return { takes, rank: [-service.length, -method.length, -count] };
};

function compareRanks(a: Candidate['rank'], b: Candidate['rank']): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  const [one, other] = [a[at] ?? 0, b[at] ?? 0];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function matches(match: HTTPRouteMatch, request: Request): boolean {
  const { method, path: target } = request;
  const [path = '', query = ''] = target.split('?');
  const parameters = new URLSearchParams(query);
  return (
    pathMatches(match.path ?? {}, path) &&
    (match.method ?? method) === method &&
    headersMatch(match.headers, request) &&
    firstOfEach(match.queryParams, (name) => name).every((each) =>
      valueMatches(each, parameters.get(each.name) ?? undefined),
    )
  );
}

function headersMatch(given: readonly HTTPValueMatch[] | undefined, { headers }: Request): boolean {
  return firstOfEach(given, (name) => name.toLowerCase()).every((each) =>
    valueMatches(each, headers[each.name.toLowerCase()]),
  );
}

function pathMatches(wanted: NonNullable<HTTPRouteMatch['path']>, path: string): boolean {
  const { type = 'PathPrefix', value = '/' } = wanted;
  if (type === 'Exact') return path === value;
  if (type === 'RegularExpression') return expression(value).test(path);
  return `${path}/`.startsWith(`${withoutSlashes(value)}/`);
}

function valueMatches({ type = 'Exact', value }: HTTPValueMatch, found: string | undefined): boolean {
  if (found === undefined) return false;
  return type === 'Exact' ? found === value : expression(value).test(found);
}

/** Of several criteria for one name, the first counts. */
function firstOfEach<T extends { readonly name: string }>(
  list: readonly T[] = [],
  canonical: (name: string) => string,
): readonly T[] {
  return list.filter(
    ({ name }, index) => list.findIndex((each) => canonical(each.name) === canonical(name)) === index,
  );
}

const withoutSlashes = (path: string) => path.replace(/\/+$/, '');

/** All of a text, in the words of RE2 that the generated expressions have. */
export function expression(re2: string): RegExp {
  const flags = re2.startsWith('(?i)') ? 'isu' : 'su';
  return new RegExp(`^(?:${re2.replace('(?i)', '').replaceAll('\\pL', '\\p{L}')})$`, flags);
}
