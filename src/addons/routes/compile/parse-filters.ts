import { defined } from '../../../util/json.ts';
import type { Place } from './findings.ts';
import type { Cors, Filtered, HeaderChanges, Match, Mirror, NewPath, Redirect, Target } from './model.ts';
import { PATH, shown, TOKEN, withoutEndingSlash } from './parse-match.ts';
import {
  CORS_FIELDS,
  type HTTPBackendRef,
  type HTTPHeaderFilter,
  type HTTPPathModifier,
  type HTTPRouteFilter,
} from './route.ts';

/** What filters depend on: the matches of their rule, and the namespace of their route. */
export interface Scope {
  readonly matches: readonly Match[];
  readonly namespace: string;
}

/** What the filters of a rule ask for. */
export interface Filters extends Filtered {
  readonly mirrors: readonly Mirror[];
  readonly redirect?: Redirect;
}

/** What may be written beside the type of a filter. */
const FILTER_FIELDS: Readonly<Record<string, keyof HTTPRouteFilter>> = {
  RequestHeaderModifier: 'requestHeaderModifier',
  ResponseHeaderModifier: 'responseHeaderModifier',
  RequestMirror: 'requestMirror',
  RequestRedirect: 'requestRedirect',
  URLRewrite: 'urlRewrite',
  ExtensionRef: 'extensionRef',
  CORS: 'cors',
};
/** The headers by which a sidecar finds its way begin so. */
const RESERVED = 'x-envoy-initializer-';
/** How long a message is, and how its connection is used, the sidecar says itself. */
const FRAMING = ['connection', 'content-length', 'transfer-encoding', 'upgrade'];
const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** The pattern of the CRD: a scheme and a host, of which the left part or all may be a star; or a star alone. */
const ORIGIN = /^\*$|^https?:\/\/((\*\.)?([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+|\*)(:[0-9]{1,5})?$/;

/** What becomes of a rule with a part of a filter that this program does not know. */
const WITHOUT_FILTER = ', so the rule works without the filter';
const MILLION = 1_000_000;
const SCHEMES = ['http', 'https'] as const;
const STATUSES = [301, 302, 303, 307, 308];

/** Reads the filters of a rule; undefined if one of them is invalid. */
export function parseFilters(
  given: readonly HTTPRouteFilter[] | undefined,
  scope: Scope,
  at: Place,
): Filters | undefined {
  const found: { -readonly [key in keyof Filters]?: Filters[key] } = {};
  const mirrors: Mirror[] = [];
  let isValid = true;
  const seen = new Set<string>();
  for (const [index, filter] of (given ?? []).entries()) {
    const path = at.in(index);
    const field = FILTER_FIELDS[filter.type] ?? 'type';
    const inside = path.in(field);
    const before = at.faults.length;
    if (filter.type !== 'RequestMirror' && seen.has(filter.type)) {
      path.add('IncompatibleFilters', `repeats ${filter.type}: use it once`);
      isValid = false;
    }
    seen.add(filter.type);
    const known = ['type', field];
    // Requests do not depend on a copy of them, and without CORS, browsers keep answers from pages of other origins.
    const isOptional = filter.type === 'RequestMirror' || filter.type === 'CORS';
    if (isOptional && path.ignoredFields(filter, known, WITHOUT_FILTER)) continue;
    if (!isOptional && field !== 'type') path.unknownFields(filter, known);
    switch (filter.type) {
      case 'RequestHeaderModifier':
        found.modifiers = { ...found.modifiers, request: parseChanges(filter.requestHeaderModifier, inside) };
        break;
      case 'ResponseHeaderModifier':
        found.modifiers = {
          ...found.modifiers,
          response: parseChanges(filter.responseHeaderModifier, inside),
        };
        break;
      case 'RequestMirror': {
        const mirror = parseMirror(filter.requestMirror, scope.namespace, inside);
        if (mirror === undefined) break;
        if (mirror) mirrors.push(mirror);
        continue;
      }
      case 'CORS': {
        const cors = parseCors(filter.cors, inside);
        if (cors === undefined) break;
        if (cors) found.cors = cors;
        continue;
      }
      case 'RequestRedirect': {
        const redirect = parseRedirect(filter.requestRedirect, scope.matches, inside);
        if (redirect) found.redirect = redirect;
        break;
      }
      case 'URLRewrite': {
        const { hostname, path: modifier, ...rest } = filter.urlRewrite ?? {};
        inside.unknownFields(rest, []);
        if (hostname !== undefined && checkHost(hostname, inside)) found.hostname = hostname;
        const newPath = parsePathModifier(modifier, scope.matches, inside.in('path'));
        if (newPath) found.path = newPath;
        break;
      }
      case 'ExtensionRef':
        inside.add('InvalidKind', 'extensions are not supported: remove the filter');
        break;
      default:
        inside.add('UnsupportedValue', `the filter ${shown(filter.type)} is not supported`);
    }
    isValid &&= at.faults.length === before;
  }
  if (seen.has('RequestRedirect') && seen.has('URLRewrite')) {
    at.add('IncompatibleFilters', 'has RequestRedirect and URLRewrite: remove one of them');
    isValid = false;
  }
  return isValid ? { modifiers: {}, ...found, mirrors } : undefined;
}

/** Reads the filters of one backend; undefined if one of them is invalid. */
export function parseBackendFilters(
  given: readonly HTTPRouteFilter[] | undefined,
  scope: Scope,
  at: Place,
): Filtered | undefined {
  const filters = parseFilters(given, scope, at);
  if (filters === undefined) return undefined;
  const { mirrors, redirect, ...own } = filters;
  if (redirect)
    return at.add('UnsupportedValue', 'RequestRedirect works only on a whole rule: move it there');
  if (mirrors.length > 0) at.add('FieldIgnored', 'RequestMirror works only on a whole rule: no copy is sent');
  return own;
}

function parseChanges(given: HTTPHeaderFilter = {}, at: Place): HeaderChanges {
  at.unknownFields(given, ['set', 'add', 'remove']);
  const { set = [], add = [], remove = [] } = given;
  for (const [list, headers] of Object.entries({ set, add })) {
    for (const [index, { name, value, ...rest }] of headers.entries()) {
      const path = at.in(list, index);
      path.unknownFields(rest, []);
      checkName(name, path.in('name'));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header cannot have.
      if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
        path.in('value').add('UnsupportedValue', `${shown(value)} has control characters`);
      }
    }
  }
  for (const [index, name] of remove.entries()) checkName(name, at.in('remove', index));
  // Of several values for one name, the first counts.
  const names = set.map(({ name }) => name.toLowerCase());
  return { set: set.filter((_, index) => names.indexOf(names[index] ?? '') === index), add, remove };
}

function checkName(name: string, at: Place): void {
  const lower = name.toLowerCase();
  const fault = !TOKEN.test(name)
    ? 'is not a valid header name'
    : lower === 'host'
      ? 'cannot be changed here: use hostname in a URLRewrite filter'
      : FRAMING.includes(lower)
        ? 'cannot be changed: the sidecar sets it for each connection'
        : lower.startsWith(RESERVED)
          ? 'is reserved for the sidecar'
          : undefined;
  if (fault !== undefined) at.add('UnsupportedValue', `${shown(name)} ${fault}`);
}

function checkHost(hostname: string, at: Place): boolean {
  if (HOST.test(hostname)) return true;
  at.in('hostname').add('UnsupportedValue', `${shown(hostname)} is not a host name`);
  return false;
}

/** False if no copy is sent and the rule goes on. */
function parseMirror(
  given: HTTPRouteFilter['requestMirror'],
  namespace: string,
  at: Place,
): Mirror | false | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  const { backendRef, percent, fraction } = given;
  const parts: readonly (readonly [Place, object, readonly string[]])[] = [
    [at, given, ['backendRef', 'percent', 'fraction']],
    [at.in('backendRef'), backendRef, TARGET_FIELDS],
    [at.in('fraction'), fraction ?? {}, ['numerator', 'denominator']],
  ];
  if (parts.some(([place, part, known]) => place.ignoredFields(part, known, WITHOUT_FILTER))) return false;
  const share =
    fraction === undefined
      ? ((percent ?? 100) / 100) * MILLION
      : (fraction.numerator / (fraction.denominator ?? 100)) * MILLION;
  if (!(share >= 0 && share <= MILLION)) {
    return at.add('UnsupportedValue', 'the share of requests must be from 0 to 1');
  }
  const target = parseTarget(backendRef, namespace, at.in('backendRef'));
  return target ? { ...target, share: Math.round(share) } : false;
}

/** Reads the filter CORS. False if it has no effect and the rule goes on, undefined if it is invalid. */
function parseCors(given: HTTPRouteFilter['cors'], at: Place): Cors | false | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  // An unknown field may say that fewer origins are allowed.
  if (at.ignoredFields(given, CORS_FIELDS, WITHOUT_FILTER)) return false;
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], exposeHeaders = [] } = given;
  const before = at.faults.length;
  const lists = [
    ['allowOrigins', allowOrigins, ORIGIN, 'an origin'],
    ['allowMethods', allowMethods, TOKEN, 'a method'],
    ['allowHeaders', allowHeaders, TOKEN, 'a header name'],
    ['exposeHeaders', exposeHeaders, TOKEN, 'a header name'],
  ] as const;
  for (const [name, values, pattern, what] of lists) {
    for (const [index, value] of values.entries()) {
      if (!pattern.test(value)) at.in(name, index).add('UnsupportedValue', `${shown(value)} is not ${what}`);
    }
  }
  if (at.faults.length > before) return undefined;
  return {
    origins: allowOrigins,
    methods: allowMethods,
    headers: allowHeaders,
    // With credentials, browsers would take it for the name of a header.
    exposed: exposeHeaders.filter((name) => name !== '*' || !given.allowCredentials),
    // The default of the API.
    maxAge: given.maxAge ?? 5,
    credentials: given.allowCredentials ?? false,
  };
}

function parseRedirect(
  given: HTTPRouteFilter['requestRedirect'],
  matches: readonly Match[],
  at: Place,
): Redirect | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  const { scheme: written, hostname, port, path: modifier, statusCode: status = 302, ...rest } = given;
  at.unknownFields(rest, []);
  const scheme = SCHEMES.find((each) => each === written);
  if (scheme !== written) {
    return at.in('scheme').add('UnsupportedValue', `${shown(written)} is not http or https`);
  }
  if (!STATUSES.includes(status)) {
    return at.in('statusCode').add('UnsupportedValue', `must be one of ${STATUSES.join(', ')}`);
  }
  if (hostname !== undefined && !checkHost(hostname, at)) return undefined;
  const path = parsePathModifier(modifier, matches, at.in('path'));
  return defined({ scheme, hostname, port, path, status });
}

function parsePathModifier(
  given: HTTPPathModifier | undefined,
  matches: readonly Match[],
  at: Place,
): NewPath | undefined {
  if (given === undefined || at.unknownFields(given, FIELDS_OF_PATH)) return undefined;
  if (given.type === 'ReplaceFullPath') {
    const { replaceFullPath: full = '' } = given;
    const path = full.startsWith('/') ? full : `/${full}`;
    if (PATH.test(path)) return { full: path };
    return at.in('replaceFullPath').add('UnsupportedValue', `${shown(full)} is not a path`);
  }
  if (given.type !== 'ReplacePrefixMatch') {
    return at.in('type').add('UnsupportedValue', `${shown(given.type)} is not supported`);
  }
  const { replacePrefixMatch: given2 = '' } = given;
  const replacement = withoutEndingSlash(given2.startsWith('/') ? given2 : `/${given2}`);
  if (!PATH.test(replacement || '/')) {
    return at.in('replacePrefixMatch').add('UnsupportedValue', `${shown(given2)} is not a path`);
  }
  const [match, ...others] = matches;
  if (match?.path.type !== 'PathPrefix' || others.length > 0) {
    return at.add('UnsupportedValue', 'ReplacePrefixMatch needs exactly one match, of type PathPrefix');
  }
  return { prefix: withoutEndingSlash(match.path.value), replacement };
}

/** The fields that {@link parseTarget} reads. */
export const TARGET_FIELDS = ['group', 'kind', 'name', 'namespace', 'port'];
const FIELDS_OF_PATH = ['type', 'replaceFullPath', 'replacePrefixMatch'];

/** Reads a reference to a port of a Service; undefined, with a fault, if it is one to something else. */
export function parseTarget(
  { group = '', kind = 'Service', name, namespace, port }: Omit<HTTPBackendRef, 'filters' | 'weight'>,
  ownNamespace: string,
  at: Place,
): Target | undefined {
  if (group !== '' || kind !== 'Service') {
    const message = `${shown(group === '' ? kind : `${group}/${kind}`)} is not supported: use a Service`;
    return at.add('InvalidKind', message);
  }
  if (port === undefined) return at.add('BackendNotFound', 'has no port: add a port of the Service');
  return { service: `${namespace ?? ownNamespace}/${name}`, port };
}
