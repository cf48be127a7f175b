import { createHash } from 'node:crypto';
import { PATIENCE } from '../../../injection/envoy/parts.ts';
import {
  backendAddress,
  MIRROR_HEADER,
  MIRRORED,
  NO_ROUTES,
  REFUSAL,
  ROUTED,
  routesFile,
} from '../../../injection/envoy/routed.ts';
import type { JsonArray, JsonObject } from '../../../util/json.ts';
import { type AttachedPort, socket } from './attach.ts';
import { AUTOMATON_BYTES, STEP_BYTES } from './left-out.ts';
import type {
  Action,
  Backend,
  Broken,
  Entry,
  Forward,
  HeaderChanges,
  Match,
  Modifiers,
  NewPath,
  Redirect,
  Target,
  ValueMatch,
} from './model.ts';
import { automatonBytes, regexSteps } from './regex.ts';

/** A file that Envoy reads its routes from. */
export interface RouteFile {
  /** Put together each time it is read: one for each of many namespaces would take too much memory. */
  readonly text: string;
  /** The JSON of the text, in parts of any length. It takes less time than to write the text as JSON. */
  json(): IterableIterator<string>;
  /** Of the text. */
  readonly bytes: number;
  /** Names the content. An Envoy that has taken it answers with this at `/routes` of its readiness port. */
  readonly version: string;
  /** The namespaces whose routes had no place, and how many bytes they would take. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** The routes of one port of a Service, as text: the same text goes into the files of many namespaces. */
export interface HostText {
  readonly text: string;
  /** The text in a string of JSON, without the quotes. */
  readonly escaped: string;
  readonly hash: string;
  /** With what separates it from the next one. */
  readonly bytes: number;
}

/** The address of a backend; undefined if there is none. */
export type Locate = (target: Target) => string | undefined;

/** A comma and the end of a line. */
const SEPARATOR_BYTES = 2;
const [SEPARATOR, PLACE] = [escapedText(',\n'), '\0'];
/** Hosts in one part of the JSON: together 30 kB, for example. */
const HOSTS_OF_PART = 20;
const WELL_KNOWN = { http: 80, https: 443 };
const REDIRECTS: Readonly<Record<number, string>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
};

/** Hosts in their order, and what a file has of each: its line in what the version is made of. Undefined: none here. */
export interface HostList<T extends HostText = HostText> {
  readonly hosts: readonly (T | undefined)[];
  readonly lines: readonly string[];
  readonly bytes: number;
}

const lineOf = (host: HostText | undefined) => (host ? `\n${host.hash}` : '');

export function hostList<T extends HostText>(hosts: readonly (T | undefined)[]): HostList<T> {
  const bytes = hosts.reduce((sum, host) => sum + (host?.bytes ?? 0), 0);
  return { hosts, lines: hosts.map(lineOf), bytes };
}

/** A list with other hosts at some places. */
export function replaceHosts<T extends HostText>(
  list: HostList<T>,
  changes: readonly (readonly [index: number, host: T | undefined])[],
): HostList<T> {
  const [hosts, lines] = [[...list.hosts], [...list.lines]];
  let { bytes } = list;
  for (const [index, host] of changes) {
    bytes += (host?.bytes ?? 0) - (hosts[index]?.bytes ?? 0);
    hosts[index] = host;
    lines[index] = lineOf(host);
  }
  return { hosts, lines, bytes };
}

/** The file for hosts. */
export function routeFile(
  { hosts, lines, bytes }: HostList,
  leftOut: ReadonlyMap<string, number> = new Map(),
): RouteFile {
  const version = hash(NO_ROUTES + lines.join(''));
  return {
    get text() {
      const texts = hosts.flatMap((host) => host?.text ?? []);
      return routesFile(texts, version);
    },
    *json() {
      const texts = hosts.flatMap((host) => host?.escaped ?? []);
      const [head = '', tail = ''] = routesFile(texts.length > 0 ? [PLACE] : [], version).split(PLACE);
      yield `"${escapedText(head)}`;
      for (let at = 0; at < texts.length; at += HOSTS_OF_PART) {
        if (at > 0) yield SEPARATOR;
        yield texts.slice(at, at + HOSTS_OF_PART).join(SEPARATOR);
      }
      yield `${escapedText(tail)}"`;
    },
    bytes: bytes + Buffer.byteLength(routesFile([], version)),
    version,
    leftOut,
  };
}

/** The host of a port: its entries in their order. A request that none of them matches gets 404 from Envoy. */
export function portHost(port: AttachedPort, entries: readonly Entry[], locate: Locate): HostText {
  const text = JSON.stringify(
    hostOf(
      port,
      entries.map((entry) => routeOf(entry, port.port, locate)),
    ),
  );
  return {
    text,
    escaped: escapedText(text),
    hash: hash(text),
    bytes: Buffer.byteLength(text) + SEPARATOR_BYTES,
  };
}

function hostOf(port: AttachedPort, routes: readonly JsonObject[]): JsonObject {
  const domains = port.addresses.map((address) => socket(address, port.port));
  // The retry policy is here, and not in each route, because the file has a maximum size.
  return { name: `${port.service}:${port.port}`, domains, routes, retry_policy: PATIENCE };
}

const NAMELESS_BYTES =
  bytesOf(hostOf({ service: '', namespace: '', port: 0, addresses: [] }, [])) + SEPARATOR_BYTES;

/** At most what the host of a port takes without entries. It is asked for all ports at once, so nothing is written. */
export function emptyHostBytes({ service, port, addresses }: AttachedPort): number {
  const quoted = addresses.map((address) => socket(address, port).length + 3);
  return quoted.reduce((sum, length) => sum + length, NAMELESS_BYTES + service.length + `${port}`.length);
}

const LONGEST_PORT = 65535;
/** No address is longer. */
const LONGEST = socket('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', LONGEST_PORT);
const ANY: Match = { path: { type: 'PathPrefix', value: '' }, headers: [], queryParams: [] };
const REFUSED: Action = { kind: 'error' };
/** Of the pattern of a rewrite, beside a prefix in it. */
const REWRITE_STEPS = 20;

/**
 * At most what entries take in the host of any port; a step of a regular expression counts as {@link STEP_BYTES}, its
 * automaton by {@link AUTOMATON_BYTES}. A file has all of a rule for each of its matches: here it is written once.
 */
export function bytesOfEntries(entries: readonly Entry[]): number {
  const actions = new Map<Action, number>();
  return entries.reduce((sum, entry) => {
    const known = actions.get(entry.action) ?? actionBytes(entry);
    actions.set(entry.action, known);
    const { path, headers, queryParams } = entry.match;
    const patterns = [
      ...(path.type === 'RegularExpression' ? [path.value] : []),
      ...[...headers, ...queryParams].flatMap(({ isRegex, value }) => (isRegex ? value : [])),
    ];
    const cost = patterns.reduce((all, pattern) => all + expressionBytes(pattern), 0);
    return sum + known + bytesOf(matchOf(entry.match)) + cost;
  }, 0);
}

/** What a valid regular expression counts beside its text. */
export function expressionBytes(pattern: string): number {
  return STEP_BYTES * regexSteps(pattern) + Math.ceil(automatonBytes(pattern) / AUTOMATON_BYTES);
}

/** What an entry takes beside its match. */
function actionBytes(entry: Entry): number {
  // Whether a backend has an address is not known yet.
  const [written, refused] = [entry.action, REFUSED].map((action) =>
    bytesOf(routeOf({ ...entry, match: ANY, action }, LONGEST_PORT, () => LONGEST)),
  );
  const { path } = entry.action.kind === 'forward' ? entry.action : {};
  const steps = path === undefined ? 0 : REWRITE_STEPS + ('prefix' in path ? path.prefix.length : 0);
  // And what an entry that refuses has from its rule; and a comma.
  const { modifiers } = entry.action.kind === 'error' ? {} : entry.action;
  const more = modifiers ? bytesOf(modifiersOf(modifiers)) : 0;
  const match = bytesOf(matchOf(ANY));
  return Math.max(written ?? 0, (refused ?? 0) + more) - match + 1 + STEP_BYTES * steps;
}

function bytesOf(value: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function escapedText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The name of an entry in Envoy's access log. */
export function entryName({ route, rule }: Entry): string {
  return `${route} rules[${rule}]`;
}

function routeOf(entry: Entry, port: number, locate: Locate): JsonObject {
  const { action, match } = entry;
  const start = { name: entryName(entry), match: matchOf(match) };
  if (action.kind === 'error') return { ...start, ...refusal(entry) };
  const modifiers = modifiersOf(action.modifiers);
  if (action.kind === 'redirect')
    return { ...start, redirect: redirectOf(action.redirect, port), ...modifiers };
  const route = forwardOf(action, locate);
  return { ...start, ...(route ? { route } : refusal(entry)), ...modifiers };
}

function refusal({ route }: Entry): JsonObject {
  const body = { inline_string: `HTTPRoute ${route} is invalid here: see its status\n` };
  return { direct_response: { status: 500, body } };
}

function matchOf({ path: { type, value }, method, headers, queryParams }: Match): JsonObject {
  const all = [
    ...(method === undefined ? [] : [{ name: ':method', string_match: { exact: method } }]),
    ...headers.map(criterion),
  ];
  return {
    ...(type === 'Exact' && { path: value }),
    ...(type === 'RegularExpression' && { safe_regex: { regex: value } }),
    ...(type === 'PathPrefix' && (value === '/' ? { prefix: value } : { path_separated_prefix: value })),
    ...(all.length > 0 && { headers: all }),
    ...(queryParams.length > 0 && { query_parameters: queryParams.map(criterion) }),
  };
}

function criterion({ name, value, isRegex }: ValueMatch): JsonObject {
  return { name, string_match: isRegex ? { safe_regex: { regex: value } } : { exact: value } };
}

function redirectOf({ scheme, hostname, port, path, status }: Redirect, ownPort: number): JsonObject {
  const standard = WELL_KNOWN[scheme ?? 'http'];
  const wanted = port ?? (scheme === undefined ? ownPort : standard);
  // Without a port of its own, Envoy keeps the one of the request.
  const isWritten = wanted !== standard || (hostname === undefined && ownPort !== WELL_KNOWN.http);
  return {
    ...(scheme !== undefined && { scheme_redirect: scheme }),
    ...(hostname !== undefined && { host_redirect: hostname }),
    ...(isWritten && { port_redirect: wanted }),
    ...(path && ('full' in path ? { path_redirect: path.full } : prefixOf(path))),
    response_code: REDIRECTS[status] ?? 'FOUND',
  };
}

/** Undefined if no valid backend has a share. */
function forwardOf(action: Forward, locate: Locate): JsonObject | undefined {
  const shares = action.backends
    .filter(({ weight }) => weight > 0)
    .map((backend) => ({ backend, address: 'broken' in backend ? undefined : locate(backend) }));
  if (shares.every(({ address }) => address === undefined)) return undefined;
  const clusters = shares.map(({ backend, address }) => clusterOf(backend, address));
  const { hostname, path, timeout, backendTimeout } = action;
  return {
    weighted_clusters: { clusters },
    timeout: seconds(timeout ?? 0),
    ...(hostname !== undefined && { host_rewrite_literal: hostname }),
    ...(path && ('full' in path ? { regex_rewrite: replaced('^/[^?]*', path.full) } : prefixOf(path))),
    ...mirrorsOf(action, locate),
    ...(backendTimeout !== undefined && {
      retry_policy: { ...PATIENCE, per_try_timeout: seconds(backendTimeout) },
    }),
  };
}

/** A share without an address goes to the listener that answers 500. */
function clusterOf({ weight, ...backend }: Backend | Broken, address: string | undefined): JsonObject {
  const modifiers = 'modifiers' in backend ? modifiersOf(backend.modifiers) : {};
  return { name: ROUTED, weight, ...backendAddress(address ?? REFUSAL), ...modifiers };
}

function mirrorsOf({ mirrors }: Forward, locate: Locate): JsonObject {
  const policies = mirrors.flatMap((mirror) => {
    const address = locate(mirror);
    if (address === undefined || mirror.share === 0) return [];
    return {
      cluster: MIRRORED,
      runtime_fraction: { default_value: { numerator: mirror.share, denominator: 'MILLION' } },
      // Else the mirror sees another Host.
      disable_shadow_host_suffix_append: true,
      request_headers_mutations: [{ append: overwriting(MIRROR_HEADER, address) }],
    };
  });
  return policies.length > 0 ? { request_mirror_policies: policies } : {};
}

function prefixOf({ prefix, replacement }: Exclude<NewPath, { full: string }>): JsonObject {
  // Of /a/b with /a, Envoy replaces just that: / would give //b.
  if (replacement === '') {
    return prefix === ''
      ? {}
      : { regex_rewrite: replaced(`^${prefix.replace(/[.*+?()$]/g, '\\$&')}/*`, '/') };
  }
  return { prefix_rewrite: prefix === '' ? `${replacement}/` : replacement };
}

function replaced(regex: string, substitution: string): JsonObject {
  return { pattern: { regex }, substitution };
}

function modifiersOf({ request, response }: Modifiers): Readonly<Record<string, JsonArray>> {
  return {
    ...(request && changesOf('request', request)),
    ...(response && changesOf('response', response)),
  };
}

function changesOf(side: string, { set, add, remove }: HeaderChanges): Readonly<Record<string, JsonArray>> {
  const added = [
    ...set.map(({ name, value }) => overwriting(name, escaped(value))),
    ...add.map(({ name, value }) => ({ header: { key: name, value: escaped(value) } })),
  ];
  return {
    ...(added.length > 0 && { [`${side}_headers_to_add`]: added }),
    ...(remove.length > 0 && { [`${side}_headers_to_remove`]: remove }),
  };
}

function overwriting(key: string, value: string): JsonObject {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}

/** Envoy has variables such as %PROTOCOL%. */
function escaped(value: string): string {
  return value.replaceAll('%', '%%');
}

function seconds(milliseconds: number): string {
  return `${milliseconds / 1000}s`;
}
