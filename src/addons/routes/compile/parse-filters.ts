import { defined } from '../../../util/json.ts';
import type { Place } from './findings.ts';
import type { Filtered, HeaderChanges, Match, Mirror, NewPath, Redirect, Target } from './model.ts';
import { PATH, shown, TOKEN, unknownType, withoutEndingSlash } from './parse-match.ts';
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

/** How the filters of a type are read. */
interface FilterKind {
  /** What may be written beside the type. */
  readonly field: keyof HTTPRouteFilter;
  /** The rule works without a filter of which a part has no effect. */
  readonly isOptional?: boolean;
  /** Returns what the filter adds to the others of its rule; undefined if it is invalid. */
  parse(filter: HTTPRouteFilter, at: Place, scope: Scope): Partial<Filters> | undefined;
}

const FILTERS = new Map(
  Object.entries<FilterKind>({
    RequestHeaderModifier: {
      field: 'requestHeaderModifier',
      parse: (filter, at) => ({ modifiers: { request: parseChanges(filter.requestHeaderModifier, at) } }),
    },
    ResponseHeaderModifier: {
      field: 'responseHeaderModifier',
      parse: (filter, at) => ({ modifiers: { response: parseChanges(filter.responseHeaderModifier, at) } }),
    },
    // Requests do not depend on a copy of them.
    RequestMirror: { field: 'requestMirror', isOptional: true, parse: parseMirror },
    RequestRedirect: { field: 'requestRedirect', parse: parseRedirect },
    URLRewrite: { field: 'urlRewrite', parse: parseRewrite },
    ExtensionRef: {
      field: 'extensionRef',
      parse: (_, at) => at.add('InvalidKind', 'extensions are not supported: remove the filter'),
    },
    // Without it, browsers keep answers from pages of other origins.
    CORS: { field: 'cors', isOptional: true, parse: parseCors },
  }),
);
const UNKNOWN: FilterKind = {
  field: 'type',
  parse: ({ type }, at) => at.add('UnsupportedValue', `the filter ${shown(type)} is not supported`),
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
  let found: Filters = { modifiers: {}, mirrors: [] };
  let isValid = true;
  const seen = new Set<string>();
  for (const [index, filter] of (given ?? []).entries()) {
    const place = at.in(index);
    const { field, isOptional = false, parse } = FILTERS.get(filter.type) ?? UNKNOWN;
    if (filter.type !== 'RequestMirror' && seen.has(filter.type)) {
      place.add('IncompatibleFilters', `repeats ${filter.type}: use it once`);
      isValid = false;
    }
    seen.add(filter.type);
    const before = at.faults.length;
    const known = ['type', field];
    if (isOptional && place.ignoredFields(filter, known, WITHOUT_FILTER)) continue;
    if (!isOptional && field !== 'type') place.unknownFields(filter, known);
    const added = parse(filter, place.in(field), scope);
    isValid &&= added !== undefined && (isOptional || at.faults.length === before);
    const modifiers = { ...found.modifiers, ...added?.modifiers };
    found = { ...found, ...added, modifiers, mirrors: [...found.mirrors, ...(added?.mirrors ?? [])] };
  }
  if (seen.has('RequestRedirect') && seen.has('URLRewrite')) {
    at.add('IncompatibleFilters', 'has RequestRedirect and URLRewrite: remove one of them');
    isValid = false;
  }
  return isValid ? found : undefined;
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

function parseMirror(
  { requestMirror: given }: HTTPRouteFilter,
  at: Place,
  { namespace }: Scope,
): Partial<Filters> | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  const { backendRef, percent, fraction } = given;
  const parts: readonly (readonly [Place, object, readonly string[]])[] = [
    [at, given, ['backendRef', 'percent', 'fraction']],
    [at.in('backendRef'), backendRef, TARGET_FIELDS],
    [at.in('fraction'), fraction ?? {}, ['numerator', 'denominator']],
  ];
  if (parts.some(([place, part, known]) => place.ignoredFields(part, known, WITHOUT_FILTER))) return {};
  const share =
    fraction === undefined
      ? ((percent ?? 100) / 100) * MILLION
      : (fraction.numerator / (fraction.denominator ?? 100)) * MILLION;
  if (!(share >= 0 && share <= MILLION)) {
    return at.add('UnsupportedValue', 'the share of requests must be from 0 to 1');
  }
  const target = parseTarget(backendRef, namespace, at.in('backendRef'));
  return target ? { mirrors: [{ ...target, share: Math.round(share) }] } : {};
}

function parseCors({ cors: given }: HTTPRouteFilter, at: Place): Partial<Filters> | undefined {
  if (given === undefined) return at.add('UnsupportedValue', 'is required');
  // An unknown field may say that fewer origins are allowed.
  if (at.ignoredFields(given, CORS_FIELDS, WITHOUT_FILTER)) return {};
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], exposeHeaders = [] } = given;
  // The defaults of the API.
  const { maxAge = 5, allowCredentials = false } = given;
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
  // With credentials, browsers would take it for the name of a header.
  const exposed = exposeHeaders.filter((name) => name !== '*' || !allowCredentials);
  const cors = { allowOrigins, allowMethods, allowHeaders, exposeHeaders: exposed, maxAge, allowCredentials };
  return { cors };
}

function parseRedirect(
  { requestRedirect: given }: HTTPRouteFilter,
  at: Place,
  { matches }: Scope,
): Partial<Filters> | undefined {
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
  return { redirect: defined({ scheme, hostname, port, path, status }) };
}

function parseRewrite({ urlRewrite = {} }: HTTPRouteFilter, at: Place, { matches }: Scope): Partial<Filters> {
  const { hostname, path, ...rest } = urlRewrite;
  at.unknownFields(rest, []);
  if (hostname !== undefined) checkHost(hostname, at);
  return defined({ hostname, path: parsePathModifier(path, matches, at.in('path')) });
}

function parsePathModifier(
  given: HTTPPathModifier | undefined,
  matches: readonly Match[],
  at: Place,
): NewPath | undefined {
  if (given === undefined || at.unknownFields(given, FIELDS_OF_PATH)) return undefined;
  const { type } = given;
  if (type !== 'ReplaceFullPath' && type !== 'ReplacePrefixMatch') return unknownType(type, at);
  const field = type === 'ReplaceFullPath' ? 'replaceFullPath' : 'replacePrefixMatch';
  const { [field]: text = '' } = given;
  const path = text.startsWith('/') ? text : `/${text}`;
  if (!PATH.test(path)) return at.in(field).add('UnsupportedValue', `${shown(text)} is not a path`);
  if (type === 'ReplaceFullPath') return { full: path };
  const [match, ...others] = matches;
  if (match?.path.type !== 'PathPrefix' || others.length > 0) {
    return at.add('UnsupportedValue', 'ReplacePrefixMatch needs exactly one match, of type PathPrefix');
  }
  return { prefix: withoutEndingSlash(match.path.value), replacement: withoutEndingSlash(path) };
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
