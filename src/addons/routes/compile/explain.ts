import { type AttachedPort, portText } from './attach.ts';
import type { Compilation } from './compile.ts';
import { entryName } from './entry-configuration.ts';
import type { Entry, Match, PathMatch, ValueMatch } from './model.ts';
import type { ObjectKey } from './objects.ts';
import { shown } from './parse-match.ts';
import type { RoutedPort } from './port-table.ts';
import { findPort, matchText, pathText } from './problems.ts';
import { regexMatches } from './regex.ts';

/** A request as a sidecar compares it with routes. */
export interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** By names in lower case. Several values of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An entry beside a request. */
export interface Verdict {
  readonly entry: Entry;
  readonly wins: boolean;
  /** Such as `method is GET, not POST`. */
  readonly why: string;
}

/** Compares a request with the entries of a port, in their order. If none wins, the answer is 404. */
export function explainRequest(port: RoutedPort, request: Request): readonly Verdict[] {
  let winner: Entry | undefined;
  return port.entries.map((entry) => {
    const difference = differenceOf(entry.match, request);
    if (difference !== undefined) return { entry, wins: false, why: difference };
    if (winner) return { entry, wins: false, why: `comes after ${entryName(winner)}` };
    winner = entry;
    return { entry, wins: true, why: `matches ${matchText(entry.match)}` };
  });
}

/** The first criterion that a request does not meet; undefined if it meets all. */
function differenceOf(match: Match, { method, path: whole, headers }: Request): string | undefined {
  const [path = '', query = ''] = whole.split(/\?(.*)/s);
  if (!pathMatches(match.path, path)) return `path is ${shown(path)}, not ${pathText(match.path)}`;
  if (match.method !== undefined && match.method !== method)
    return `method is ${method}, not ${match.method}`;
  const differing = match.headers.find((wanted) => !valueMatches(wanted, headers[wanted.name]));
  if (differing) return `header ${valueText(differing, headers[differing.name])}`;
  const params = queryParams(query);
  const param = match.queryParams.find((wanted) => !valueMatches(wanted, params.get(wanted.name)));
  return param && `query parameter ${valueText(param, params.get(param.name))}`;
}

function pathMatches({ type, value }: PathMatch, path: string): boolean {
  if (type === 'Exact') return path === value;
  if (type === 'RegularExpression') return regexMatches(value, path);
  return value === '/' ? path.startsWith('/') : path === value || path.startsWith(`${value}/`);
}

function valueMatches({ value, isRegex }: ValueMatch, found: string | undefined): boolean {
  if (found === undefined) return false;
  return isRegex ? regexMatches(value, found) : found === value;
}

/** As Envoy reads them: nothing is decoded, and the first value of a name counts. */
function queryParams(query: string): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  for (const part of query.split('&')) {
    const [name = '', value = ''] = part.split(/=(.*)/s);
    if (!params.has(name)) params.set(name, value);
  }
  return params;
}

function valueText({ name, value, isRegex }: ValueMatch, found: string | undefined): string {
  const wanted = `${isRegex ? 'a match of ' : ''}${shown(value)}`;
  return found === undefined ? `${name} is missing: ${wanted}` : `${name} is ${shown(found)}, not ${wanted}`;
}

/** Where a route applies, one fact a line. What is wrong with it is in {@link routeProblems}. */
export function explainRoute(compilation: Compilation, key: ObjectKey): readonly string[] {
  const route = compilation.routes.get(key);
  const namespace = route?.object.metadata.namespace ?? '';
  const routed = compilation.ports(namespace);
  return (route?.attachments ?? []).flatMap((attachment) =>
    'ports' in attachment ? attachment.ports.flatMap((port) => scopeOf(port, namespace, routed)) : [],
  );
}

function scopeOf(port: AttachedPort, namespace: string, routed: readonly RoutedPort[]): readonly string[] {
  const found = findPort(routed, port);
  if (found === undefined) return [];
  const others = found.consumers.filter((each) => each !== namespace);
  const except = others.length > 0 ? ` except ${others.join(', ')}, which have routes of their own` : '';
  const scope = found.isConsumer
    ? `applies to clients in ${namespace} only, instead of the routes in ${found.namespace}`
    : `applies to clients in all namespaces${except}`;
  return [`${portText(port)}: ${scope}`];
}
