import type { Attachment } from './attach.ts';
import type { Compilation } from './compile.ts';
import type { Entry, Match, PathMatch, ValueMatch } from './model.ts';
import type { ObjectKey } from './objects.ts';
import { shown } from './parse-match.ts';
import type { RoutedPort } from './port-table.ts';
import { regexMatches } from './regex.ts';
import { entryName } from './route-configuration.ts';

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

function pathText({ type, value }: PathMatch): string {
  if (type === 'Exact') return shown(value);
  return type === 'PathPrefix' ? `below ${shown(value)}` : `a match of ${shown(value)}`;
}

function matchText({ path, method, headers, queryParams: params }: Match): string {
  const value = (kind: string) => (each: ValueMatch) =>
    `${kind} ${each.name}${each.isRegex ? '~' : '='}${shown(each.value)}`;
  return [
    `path ${pathText(path)}`,
    ...(method === undefined ? [] : [`method ${method}`]),
    ...headers.map(value('header')),
    ...params.map(value('query parameter')),
  ].join(', ');
}

/** What a route does, one fact a line: where it holds, what is in its way, and what is wrong with it. */
export function explainRoute(compilation: Compilation, key: ObjectKey): readonly string[] {
  const route = compilation.routes.get(key);
  if (route === undefined) return [`HTTPRoute ${key} does not exist`];
  if (route.attachments.length === 0) {
    return ['does nothing in sidecars: no parentRef has group "" and kind Service'];
  }
  const namespace = route.object.metadata.namespace ?? '';
  const ports = compilation.ports(namespace);
  return [
    ...route.attachments.flatMap((attachment) => attachmentLines(key, namespace, attachment, ports)),
    ...route.faults.map(({ path, message }) => `${path}: ${message}`),
  ];
}

function attachmentLines(
  key: ObjectKey,
  namespace: string,
  attachment: Attachment,
  routed: readonly RoutedPort[],
): readonly string[] {
  if ('missing' in attachment) return [`holds nowhere: ${attachment.missing}`];
  return attachment.ports.flatMap(({ service, port }) => {
    const found = routed.find((each) => each.service === service && each.port === port);
    const name = `Service ${service} port ${port}`;
    if (found === undefined) return [`holds nowhere: another Service has the addresses of ${name}`];
    const others = found.consumers.filter((each) => each !== namespace);
    const scope = found.isConsumer
      ? `holds for clients in ${namespace} alone, in place of the routes in ${found.namespace}`
      : `holds for clients in all namespaces${others.length > 0 ? ` but ${others.join(', ')}, which have their own` : ''}`;
    return [`${name}: ${scope}`, ...shadowLines(key, found)];
  });
}

/** The matches of a route that never win, because an earlier one is the same. */
function shadowLines(key: ObjectKey, { entries }: RoutedPort): readonly string[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const text = matchText(entry.match);
    const earlier = first.get(text);
    if (earlier === undefined) first.set(text, entry);
    if (earlier === undefined || entry.route !== key) return [];
    return [`rules[${entry.rule}] never gets ${text}: ${entryName(earlier)} comes first`];
  });
}
