import type { ObjectKey } from '../../../kube/api/object.ts';
import { formatDiagnostic } from '../../../util/diagnostic.ts';
import { type AttachedPort, portsOf, portText } from './attach.ts';
import type { Compilation } from './compile.ts';
import { entryName } from './envoy-route.ts';
import type { FaultReason } from './findings.ts';
import type { Entry, Match, PathMatch, ValueMatch } from './model.ts';
import { shown } from './parse-match.ts';
import type { RoutedPort } from './port-table.ts';
import { regexMatches } from './regex.ts';
import type { Route } from './route.ts';
import { unservedText } from './status.ts';

/** A request as a sidecar compares it with routes. */
export interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** By names in lower case. Several values of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

/** An entry beside a request. */
export interface Comparison {
  readonly entry: Entry;
  readonly wins: boolean;
  /** Such as `method is GET, not POST`. */
  readonly why: string;
}

/** Compares a request with the entries of a port, in their order. If none wins, the answer is 404. */
export function explainRequest(port: RoutedPort, request: Request): readonly Comparison[] {
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
  if (found === undefined) return `${name}${isRegex ? '~' : '='}${shown(value)} is missing`;
  return `${name} is ${shown(found)}, not ${isRegex ? 'a match of ' : ''}${shown(value)}`;
}

/** Where a route applies, one fact a line. What is wrong with it is in {@link routeProblems}. */
export function explainRoute(compilation: Compilation, key: ObjectKey): readonly string[] {
  const route = compilation.routes.get(key);
  const namespace = route?.object.metadata.namespace ?? '';
  const routed = compilation.ports(namespace);
  return portsOf(route?.attachments ?? []).flatMap((port) => scopeOf(port, namespace, routed));
}

function scopeOf(port: AttachedPort, namespace: string, routed: readonly RoutedPort[]): readonly string[] {
  const found = findPort(routed, port);
  if (found === undefined) return [];
  const others = found.consumers.filter((each) => each !== namespace);
  const except = others.length > 0 ? ` except those with their own routes: ${others.join(', ')}` : '';
  const scope = found.isConsumer
    ? `applies to clients in ${namespace} only, instead of the routes in ${found.namespace}`
    : `applies to clients in all namespaces${except}`;
  return [`${portText(port)}: ${scope}`];
}

/** What keeps a route from doing what it says. */
export interface RouteProblem {
  readonly reason:
    | FaultReason
    | 'NoMatchingParent'
    | 'NoServiceParent'
    | 'AddressTaken'
    | 'RuleNeverMatches'
    | 'NoBackend'
    | 'HostnamesIgnored'
    | 'NoSidecar'
    | 'RoutesTooLarge';
  readonly message: string;
}

export const NO_SIDECAR: RouteProblem = {
  reason: 'NoSidecar',
  message: 'no running pod follows this route: its clients need the template "transparent"',
};

/** All problems of a route: those of its status, and rules that never match. */
export function routeProblems(compilation: Compilation, key: ObjectKey): readonly RouteProblem[] {
  const route = compilation.routes.get(key);
  if (route === undefined) return [];
  const { object, attachments, faults, unserved } = route;
  if (attachments.length === 0) {
    const message = 'sidecars ignore this route: no parentRef has group "" and kind Service';
    return [{ reason: 'NoServiceParent', message }];
  }
  const routed = compilation.ports(object.metadata.namespace ?? '');
  const problems = [
    ...attachments.flatMap((attachment): readonly RouteProblem[] =>
      'missing' in attachment
        ? [{ reason: attachment.reason ?? 'NoMatchingParent', message: attachment.missing }]
        : attachment.ports.flatMap((port) => portProblems(key, port, routed)),
    ),
    ...faults.map((fault) => ({ reason: fault.reason, message: formatDiagnostic(fault) })),
    ...(portsOf(attachments).length > 0 ? unserved : []).map(
      (rule): RouteProblem => ({ reason: 'NoBackend', message: unservedText(rule) }),
    ),
    ...unusedHostnames(object),
  ];
  // Several ports have the same ones.
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** For a Service, the API ignores host names. A Gateway beside it uses them. */
function unusedHostnames({ spec }: Route): readonly RouteProblem[] {
  const isUsed = spec.parentRefs?.some(({ kind }) => kind !== 'Service');
  if (isUsed || !spec.hostnames?.length) return [];
  const message = 'hostnames: sidecars ignore them and find the Service by address: match the header Host';
  return [{ reason: 'HostnamesIgnored', message }];
}

function portProblems(
  key: ObjectKey,
  port: AttachedPort,
  routed: readonly RoutedPort[],
): readonly RouteProblem[] {
  const found = findPort(routed, port);
  if (found) return unreachable(key, found);
  return [{ reason: 'AddressTaken', message: `another Service has the same addresses as ${portText(port)}` }];
}

/** The matches of a route that never win, because an earlier one is the same. */
function unreachable(key: ObjectKey, { entries }: RoutedPort): readonly RouteProblem[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const match = JSON.stringify(entry.match);
    const earlier = first.get(match);
    if (earlier === undefined) first.set(match, entry);
    if (earlier === undefined || entry.route !== key) return [];
    const message = `rules[${entry.rule}] gets no request with ${matchText(entry.match)}: ${entryName(earlier)} has the same match and comes first`;
    return [{ reason: 'RuleNeverMatches', message }];
  });
}

/** The port with the routes that apply to it; undefined if another Service has its addresses. */
function findPort(routed: readonly RoutedPort[], { service, port }: AttachedPort): RoutedPort | undefined {
  return routed.find((each) => each.service === service && each.port === port);
}

/** Such as `below "/a"`. */
function pathText({ type, value }: PathMatch): string {
  if (type === 'Exact') return shown(value);
  return type === 'PathPrefix' ? `below ${shown(value)}` : `a match of ${shown(value)}`;
}

/** Such as `path below "/a", method GET`. */
function matchText({ path, method, call, headers, queryParams: params }: Match): string {
  const value = (kind: string) => (each: ValueMatch) =>
    `${kind} ${each.name}${each.isRegex ? '~' : '='}${shown(each.value)}`;
  return [
    ...(call ? [`method ${call.service || '*'}/${call.method || '*'}`] : []),
    ...(call && path.type !== 'RegularExpression' ? [] : [`path ${pathText(path)}`]),
    ...(method === undefined ? [] : [`method ${method}`]),
    ...headers.map(value('header')),
    ...params.map(value('query parameter')),
  ].join(', ');
}
