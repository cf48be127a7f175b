import type { Place } from './findings.ts';
import type { PathMatch } from './model.ts';
import { ANY, type ParsedMatch, parseHeaders, shown, valuesAsGiven } from './parse-match.ts';
import { regexFault } from './regex.ts';
import type { GRPCRouteMatch } from './route.ts';

/** What the CRD allows of type Exact. */
const SERVICE = /^\.?[a-z_]\w*(\.[a-z_]\w*)*$/i;
const METHOD = /^[a-z_]\w*$/i;
/** A segment of a path. */
const SEGMENT = '[^/]+';

/** Reads a match of a GRPCRoute: the path of a call is `/service/method`. */
export function parseMethodMatch(given: GRPCRouteMatch, at: Place): ParsedMatch {
  const before = at.faults.length;
  at.unknownFields(given, ['method', 'headers']);
  const path = parseMethod(given.method, at.in('method'));
  const { service = '', method = '' } = given.method ?? {};
  const headers = parseHeaders(given.headers, at.in('headers'));
  const match = { ...ANY, path: path ?? ANY.path, call: { service, method }, headers };
  if (at.faults.length === before) return { match };
  return { match, meant: { ...match, headers: valuesAsGiven(given.headers) } };
}

function parseMethod(given: GRPCRouteMatch['method'] = {}, at: Place): PathMatch | undefined {
  if (at.unknownFields(given, ['type', 'service', 'method'])) return undefined;
  const { type = 'Exact', service = '', method = '' } = given;
  if (type === 'RegularExpression') {
    const value = methodPattern(given);
    const patterns = Object.entries({ service, method }).filter(([, pattern]) => pattern !== '');
    for (const [name, pattern] of [...patterns, ['', value] as const]) {
      const fault = regexFault(pattern);
      const place = name === '' ? at : at.in(name);
      if (fault) return place.add('UnsupportedValue', `the regular expression ${shown(pattern)} ${fault}`);
    }
    return { type, value };
  }
  if (type !== 'Exact') {
    return at.in('type').add('UnsupportedValue', `${shown(type)} is not supported`);
  }
  for (const [name, value, pattern] of [
    ['service', service, SERVICE],
    ['method', method, METHOD],
  ] as const) {
    if (value === '' || pattern.test(value)) continue;
    return at.in(name).add('UnsupportedValue', `${shown(value)} is not the name of a ${name}`);
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
