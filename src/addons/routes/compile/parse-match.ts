import { quoteText } from '../../../util/clip.ts';
import type { Place } from './findings.ts';
import { type Match, PATH_TYPES, type PathMatch, type ValueMatch } from './model.ts';
import { regexFault } from './regex.ts';
import type { GRPCRouteMatch, HTTPRouteMatch, HTTPValueMatch } from './route.ts';

/** How much of a value a message shows. */
const SHOWN = 64;
/** The characters of a name of a header or query parameter. */
export const TOKEN = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;
/** The characters of a path. */
export const PATH = /^\/(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})*$/;
/** Matches all requests. */
export const ANY: Match = { path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [] };

/** Quotes a value for a message. */
export function shown(value: unknown): string {
  return quoteText(String(value), SHOWN);
}

/** A match as far as it has a meaning. */
export interface ParsedMatch {
  readonly match: Match;
  /** Set if a criterion has no meaning and is left out: the match as it was meant, good for its place among others. */
  readonly meant?: Match;
}

export function parseMatch(given: HTTPRouteMatch, at: Place): ParsedMatch {
  const before = at.faults.length;
  at.unknownFields(given, ['path', 'method', 'headers', 'queryParams']);
  const match = {
    path: parsePath(given.path, at.in('path')) ?? ANY.path,
    ...method(given.method, at),
    headers: parseHeaders(given.headers, at.in('headers')),
    queryParams: values(given.queryParams, at.in('queryParams'), (name) => name),
  };
  return at.faults.length === before ? { match } : { match, meant: meantBy(given) };
}

function meantBy({ path, method, headers, queryParams }: HTTPRouteMatch): Match {
  return {
    // Of a type that is not known, it may be as specific as any.
    path: {
      type: PATH_TYPES.find((type) => type === (path?.type ?? 'PathPrefix')) ?? 'Exact',
      value: path?.value ?? '/',
    },
    ...(method !== undefined && { method }),
    headers: valuesAsGiven(headers),
    queryParams: valuesAsGiven(queryParams),
  };
}

/** For values that may have no meaning: how many there are decides on the place of a match. */
function valuesAsGiven(given: readonly HTTPValueMatch[] = []): readonly ValueMatch[] {
  return given.map(({ name, value }) => ({ name, value, isRegex: true }));
}

function parseHeaders(given: readonly HTTPValueMatch[] | undefined, at: Place): readonly ValueMatch[] {
  return values(given, at, (name) => name.toLowerCase());
}

function parsePath(given: HTTPRouteMatch['path'], at: Place): PathMatch | undefined {
  if (given === undefined) return ANY.path;
  if (at.unknownFields(given, ['type', 'value'])) return undefined;
  const { type = 'PathPrefix', value = '/' } = given;
  if (type === 'RegularExpression') return isRegex(value, at.in('value')) ? { type, value } : undefined;
  if (type !== 'Exact' && type !== 'PathPrefix') return unknownType(type, at);
  if (!PATH.test(value)) {
    const message = `${shown(value)} is not a path: use one that begins with / and has no query`;
    return at.in('value').add('UnsupportedValue', message);
  }
  return { type, value: type === 'Exact' ? value : withoutEndingSlash(value) || '/' };
}

/** A prefix consists of whole segments: /a/ and /a are the same. `/` becomes empty. */
export function withoutEndingSlash(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function method(given: string | undefined, at: Place): { readonly method?: string } {
  if (given === undefined) return {};
  if (TOKEN.test(given)) return { method: given };
  at.in('method').add('UnsupportedValue', `${shown(given)} is not a method`);
  return {};
}

/** Of several criteria for one name, the first counts. */
function values(
  given: readonly HTTPValueMatch[] | undefined,
  at: Place,
  canonical: (name: string) => string,
): readonly ValueMatch[] {
  const found = new Map<string, ValueMatch>();
  for (const [index, criterion] of (given ?? []).entries()) {
    const parsed = valueMatch(criterion, at.in(index), canonical);
    if (parsed && !found.has(parsed.name)) found.set(parsed.name, parsed);
  }
  // Their order does not matter to a request, so equal matches have equal text.
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function valueMatch(
  given: HTTPValueMatch,
  at: Place,
  canonical: (name: string) => string,
): ValueMatch | undefined {
  if (at.unknownFields(given, ['name', 'type', 'value'])) return undefined;
  const { name, type = 'Exact', value } = given;
  if (type !== 'Exact' && type !== 'RegularExpression') return unknownType(type, at);
  if (!TOKEN.test(name)) {
    return at.in('name').add('UnsupportedValue', `${shown(name)} is not a name`);
  }
  if (type === 'Exact') return { name: canonical(name), value, isRegex: false };
  return isRegex(value, at.in('value')) ? { name: canonical(name), value, isRegex: true } : undefined;
}

/** Whether a regular expression is valid, else with a fault. */
function isRegex(pattern: string, at: Place): boolean {
  const fault = regexFault(pattern);
  if (fault !== undefined) at.add('UnsupportedValue', `the regular expression ${shown(pattern)} ${fault}`);
  return fault === undefined;
}

/** For a value that the CRD gained after this program was made. */
export function unknownType(type: string, at: Place): undefined {
  return at.in('type').add('UnsupportedValue', `${shown(type)} is not supported`);
}

/** What the CRD allows of type Exact. */
const SERVICE = /^\.?[a-z_]\w*(\.[a-z_]\w*)*$/i;
const METHOD = /^[a-z_]\w*$/i;
/** A segment of a path. */
const SEGMENT = '[^/]+';

/** Reads a match of a GRPCRoute: the path of a call is `/service/method`. */
export function parseMethodMatch(given: GRPCRouteMatch, at: Place): ParsedMatch {
  const before = at.faults.length;
  at.unknownFields(given, ['method', 'headers']);
  const path = parseCall(given.method, at.in('method'));
  const { service = '', method = '' } = given.method ?? {};
  const headers = parseHeaders(given.headers, at.in('headers'));
  const match = { ...ANY, path: path ?? ANY.path, call: { service, method }, headers };
  if (at.faults.length === before) return { match };
  return { match, meant: { ...match, headers: valuesAsGiven(given.headers) } };
}

function parseCall(given: GRPCRouteMatch['method'] = {}, at: Place): PathMatch | undefined {
  if (at.unknownFields(given, ['type', 'service', 'method'])) return undefined;
  const { type = 'Exact', service = '', method = '' } = given;
  if (type === 'RegularExpression') {
    const value = methodPattern(given);
    const isValid =
      (service === '' || isRegex(service, at.in('service'))) &&
      (method === '' || isRegex(method, at.in('method'))) &&
      isRegex(value, at);
    return isValid ? { type, value } : undefined;
  }
  if (type !== 'Exact') return unknownType(type, at);
  for (const [name, value, pattern] of [
    ['service', service, SERVICE],
    ['method', method, METHOD],
  ] as const) {
    if (value === '' || pattern.test(value)) continue;
    return at.in(name).add('UnsupportedValue', `${shown(value)} is not a valid ${name} name`);
  }
  if (service === '' && method === '') return ANY.path;
  if (service === '') return { type: 'RegularExpression', value: `/${SEGMENT}/${method}` };
  if (method === '') return { type: 'PathPrefix', value: `/${service}` };
  return { type: 'Exact', value: `/${service}/${method}` };
}

/** The expression that the path of a call matches if service and method match theirs. */
export function methodPattern({ service, method }: NonNullable<GRPCRouteMatch['method']>): string {
  const part = (pattern: string | undefined) => (pattern ? `(?:${pattern})` : SEGMENT);
  return `/${part(service)}/${part(method)}`;
}
