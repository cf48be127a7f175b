import {
  BACKENDS,
  backendAddress,
  corsPolicy,
  MIRROR_HEADER,
  MIRRORED,
  PATIENCE,
  REFUSAL,
  ROUTED,
} from '../../../injection/envoy/routed.ts';
import type { JsonArray, JsonObject } from '../../../util/json.ts';
import type {
  Backend,
  Broken,
  Entry,
  Filtered,
  Forward,
  HeaderChanges,
  Match,
  Modifiers,
  NewPath,
  Redirect,
  Target,
  ValueMatch,
} from './model.ts';
import { routeText } from './route.ts';

/** The address of a backend; undefined if there is none. */
export type Locate = (target: Target) => string | undefined;

const MILLION = 1_000_000;
const WELL_KNOWN = { http: 80, https: 443 };
const REDIRECTS: Readonly<Record<number, string>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
};

/** The name of an entry in Envoy's access log. */
export function entryName({ route, rule }: Entry): string {
  return `${route} rules[${rule}]`;
}

/** An entry as routes of Envoy: one, or one for each backend if it takes a route to do what they ask for. */
export function routesOf(entry: Entry, port: number, locate: Locate): readonly JsonObject[] {
  const { action, match } = entry;
  const start = { name: entryName(entry), match: matchOf(match) };
  if (action.kind === 'error') return [{ ...start, ...refusal(entry) }];
  const rest = { ...modifiersOf(action.modifiers), ...perFilter(corsOf(action)) };
  if (action.kind === 'redirect') return [{ ...start, redirect: redirectOf(action.redirect, port), ...rest }];
  const shares = action.backends.filter(({ weight }) => weight > 0);
  const isSplit = shares.some((share) => 'path' in share);
  const total = shares.reduce((all, { weight }) => all + weight, 0);
  let sum = 0;
  return (isSplit ? shares : [action]).map((part) => {
    if ('weight' in part) sum += part.weight;
    // Envoy compares all of these with one random number for each request, so each has the sum up to its own.
    const numerator = Math.floor((sum / total) * MILLION);
    const share = { runtime_fraction: { default_value: { numerator, denominator: 'MILLION' } } };
    const path = 'path' in part ? { path: part.path } : {};
    const its = 'weight' in part ? { ...action, ...path, backends: [part] } : action;
    const first = isSplit ? { ...start, match: { ...start.match, ...share } } : start;
    return { ...first, ...(forwardOf(its, locate) ?? refusal(entry)), ...rest };
  });
}

/** For a call, Envoy makes UNAVAILABLE of 503, as the API has it, and UNKNOWN of 500. */
function refusal({ route, match: { call } }: Entry): JsonObject {
  const body = { inline_string: `${routeText(route)} has a bad rule: see its status\n` };
  return { direct_response: { status: call ? 503 : 500, body } };
}

export function matchOf({ path: { type, value }, method, headers, queryParams }: Match): JsonObject {
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

/**
 * With the names of the backends by their addresses, for the metrics: once for a route, as the file has a maximum size.
 * Undefined if no valid backend has a share.
 */
function forwardOf(action: Forward, locate: Locate): JsonObject | undefined {
  const names: Record<string, string> = {};
  const clusters = action.backends
    .filter(({ weight }) => weight > 0)
    .map((backend) => {
      const address = 'broken' in backend ? undefined : locate(backend);
      if (!('broken' in backend) && address !== undefined)
        names[address] = `${backend.service}:${backend.port}`;
      return clusterOf(backend, address);
    });
  if (Object.keys(names).length === 0) return undefined;
  const { path, timeout } = action;
  const route = {
    weighted_clusters: { clusters },
    timeout: seconds(timeout ?? 0),
    ...hostOf(action),
    ...(path && ('full' in path ? { regex_rewrite: replaced('^/[^?]*', path.full) } : prefixOf(path))),
    ...mirrorsOf(action, locate),
    ...retryOf(action),
  };
  return { route, metadata: { filter_metadata: { [BACKENDS]: names } } };
}

/** What differs from the retry policy of the host. */
function retryOf({ retry, backendTimeout }: Forward): JsonObject {
  if (retry === undefined && backendTimeout === undefined) return {};
  const limit = backendTimeout === undefined ? {} : { per_try_timeout: seconds(backendTimeout) };
  if (retry === undefined) return { retry_policy: { ...PATIENCE, ...limit } };
  const { attempts, codes, backoff } = retry;
  if (attempts === 0) return { retry_policy: limit };
  // Nobody has begun to handle the request, or an attempt takes too long, for which Envoy has no other name.
  const always = `connect-failure,refused-stream,unavailable${backendTimeout === undefined ? '' : ',reset'}`;
  const policy = {
    retry_on: codes.length > 0 ? `${always},retriable-status-codes` : always,
    num_retries: attempts,
    ...(codes.length > 0 && { retriable_status_codes: codes }),
    ...(backoff !== undefined && { retry_back_off: { base_interval: seconds(backoff) } }),
    ...limit,
  };
  return { retry_policy: policy };
}

/** A share without an address goes to the listener that answers 500. */
function clusterOf(backend: Backend | Broken, address = REFUSAL): JsonObject {
  const own: Filtered = 'broken' in backend ? { modifiers: {} } : backend;
  const filters = perFilter({ ...backendAddress(address), ...corsOf(own) });
  return { name: ROUTED, weight: backend.weight, ...filters, ...hostOf(own), ...modifiersOf(own.modifiers) };
}

function hostOf({ hostname }: Filtered): JsonObject {
  return hostname === undefined ? {} : { host_rewrite_literal: hostname };
}

/** The options of filters by their names. */
function perFilter(options: JsonObject): JsonObject {
  return Object.keys(options).length > 0 ? { typed_per_filter_config: options } : {};
}

export function corsOf({ cors }: Filtered): JsonObject {
  if (cors === undefined) return {};
  const { allowOrigins, allowMethods, allowHeaders, exposeHeaders, maxAge, allowCredentials } = cors;
  return corsPolicy({
    allow_origin_string_match: allowOrigins.map(originOf),
    ...(allowMethods.length > 0 && { allow_methods: allowMethods.join() }),
    ...(allowHeaders.length > 0 && { allow_headers: allowHeaders.join() }),
    ...(exposeHeaders.length > 0 && { expose_headers: exposeHeaders.join() }),
    max_age: `${maxAge}`,
    allow_credentials: allowCredentials,
    forward_not_matching_preflights: false,
  });
}

/** Browsers write origins in lower case, and without the usual port. */
function originOf(origin: string): JsonObject {
  const text = origin.toLowerCase().replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2');
  // Envoy looks for a star before it looks for the origin.
  if (text === '*' || !text.includes('*')) return { exact: text };
  const escaped = text.replaceAll('.', '\\.').replace('*', '[^:/]+');
  return { safe_regex: { regex: escaped } };
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

export function modifiersOf({ request, response }: Modifiers): Readonly<Record<string, JsonArray>> {
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
