import type { Path } from '../../../util/diagnostic.ts';
import type { Findings } from './findings.ts';
import type {
  HTTPBackendRef,
  HTTPHeaderFilter,
  HTTPPathModifier,
  HTTPRequestMirrorFilter,
  HTTPRequestRedirectFilter,
  HTTPRouteFilter,
} from './http-route.ts';
import type { Filtered, Header, HeaderChanges, Match, Mirror, NewPath, Redirect, Target } from './model.ts';
import { parseCors } from './parse-cors.ts';
import { PATH, shown, TOKEN, withoutEndingSlash } from './parse-match.ts';

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
const MILLION = 1_000_000;
const STATUSES = [301, 302, 303, 307, 308];
/** What becomes of a rule with a part of a filter that this program does not know. */
export const WITHOUT_FILTER = 'the rule works as without this filter';

/** Reads the filters of a rule; undefined if one of them is invalid. `matches` are those of the rule. */
export function parseFilters(
  given: readonly HTTPRouteFilter[] | undefined,
  matches: readonly Match[],
  namespace: string,
  at: Path,
  findings: Findings,
): Filters | undefined {
  const found: { -readonly [key in keyof Filters]?: Filters[key] } = {};
  const mirrors: Mirror[] = [];
  let isValid = true;
  const seen = new Set<string>();
  for (const [index, filter] of (given ?? []).entries()) {
    const path = [...at, index];
    const field = FILTER_FIELDS[filter.type] ?? 'type';
    const inside = [...path, field];
    const before = findings.faults.length;
    if (filter.type !== 'RequestMirror' && seen.has(filter.type)) {
      findings.add('IncompatibleFilters', path, `repeats ${filter.type}: use it once`);
      isValid = false;
    }
    seen.add(filter.type);
    const known = ['type', field];
    // Requests do not depend on a copy of them, and without CORS, browsers keep answers from pages of other origins.
    const isOptional = filter.type === 'RequestMirror' || filter.type === 'CORS';
    if (isOptional && findings.ignoredFields(filter, path, known, WITHOUT_FILTER)) continue;
    if (!isOptional && field !== 'type') findings.unknownFields(filter, path, known);
    switch (filter.type) {
      case 'RequestHeaderModifier': {
        const request = parseChanges(filter.requestHeaderModifier, inside, findings);
        found.modifiers = { ...found.modifiers, request };
        break;
      }
      case 'ResponseHeaderModifier': {
        const response = parseChanges(filter.responseHeaderModifier, inside, findings);
        found.modifiers = { ...found.modifiers, response };
        break;
      }
      case 'RequestMirror': {
        const mirror = parseMirror(filter.requestMirror, namespace, inside, findings);
        if (mirror === undefined) break;
        if (mirror) mirrors.push(mirror);
        continue;
      }
      case 'CORS': {
        const cors = parseCors(filter.cors, inside, findings);
        if (cors === undefined) break;
        if (cors) found.cors = cors;
        continue;
      }
      case 'RequestRedirect': {
        const redirect = parseRedirect(filter.requestRedirect, matches, inside, findings);
        if (redirect) found.redirect = redirect;
        break;
      }
      case 'URLRewrite': {
        const { hostname, path: modifier, ...rest } = filter.urlRewrite ?? {};
        findings.unknownFields(rest, inside, []);
        if (hostname !== undefined && checkHost(hostname, inside, findings)) found.hostname = hostname;
        const newPath = parsePathModifier(modifier, matches, [...inside, 'path'], findings);
        if (newPath) found.path = newPath;
        break;
      }
      case 'ExtensionRef':
        findings.add('InvalidKind', inside, 'extensions are not supported: remove the filter');
        break;
      default:
        findings.add('UnsupportedValue', inside, `the filter ${shown(filter.type)} is not supported`);
    }
    isValid &&= findings.faults.length === before;
  }
  if (seen.has('RequestRedirect') && seen.has('URLRewrite')) {
    findings.add('IncompatibleFilters', at, 'has RequestRedirect and URLRewrite: remove one of them');
    isValid = false;
  }
  return isValid ? { modifiers: {}, ...found, mirrors } : undefined;
}

/** Reads the filters of one backend; undefined if one of them is invalid. */
export function parseBackendFilters(
  given: readonly HTTPRouteFilter[] | undefined,
  matches: readonly Match[],
  namespace: string,
  at: Path,
  findings: Findings,
): Filtered | undefined {
  const filters = parseFilters(given, matches, namespace, at, findings);
  if (filters === undefined) return undefined;
  const { mirrors, redirect, ...own } = filters;
  if (redirect)
    return findings.add('UnsupportedValue', at, 'RequestRedirect works for a rule: move it there');
  if (mirrors.length > 0) {
    findings.add(
      'FieldIgnored',
      at,
      'RequestMirror works for a rule: no copy is sent until you move it there',
    );
  }
  return own;
}

function parseChanges(given: HTTPHeaderFilter = {}, at: Path, findings: Findings): HeaderChanges {
  findings.unknownFields(given, at, ['set', 'add', 'remove']);
  const { set = [], add = [], remove = [] } = given;
  for (const [list, headers] of Object.entries({ set, add })) {
    for (const [index, { name, value, ...rest }] of headers.entries()) {
      const path = [...at, list, index];
      findings.unknownFields(rest, path, []);
      checkName(name, [...path, 'name'], findings);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header cannot have.
      if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
        findings.add('UnsupportedValue', [...path, 'value'], `${shown(value)} has control characters`);
      }
    }
  }
  for (const [index, name] of remove.entries()) checkName(name, [...at, 'remove', index], findings);
  return { set: firsts(set), add, remove };
}

/** Of several values for one name, the first counts. */
function firsts(headers: readonly Header[]): readonly Header[] {
  const names = headers.map(({ name }) => name.toLowerCase());
  return headers.filter(({ name }, index) => names.indexOf(name.toLowerCase()) === index);
}

function checkName(name: string, at: Path, findings: Findings): void {
  const lower = name.toLowerCase();
  if (!TOKEN.test(name)) findings.add('UnsupportedValue', at, `${shown(name)} is not the name of a header`);
  else if (lower === 'host') {
    findings.add(
      'UnsupportedValue',
      at,
      'the header Host cannot be changed here: use hostname of a filter URLRewrite',
    );
  } else if (FRAMING.includes(lower)) {
    findings.add(
      'UnsupportedValue',
      at,
      `${shown(name)} cannot be changed: the sidecar sets it for each connection`,
    );
  } else if (lower.startsWith(RESERVED)) {
    findings.add('UnsupportedValue', at, `${shown(name)} is reserved for the sidecar`);
  }
}

function checkHost(hostname: string, at: Path, findings: Findings): boolean {
  if (HOST.test(hostname)) return true;
  findings.add('UnsupportedValue', [...at, 'hostname'], `${shown(hostname)} is not a host name`);
  return false;
}

/** False if no copy is sent and the rule goes on. */
function parseMirror(
  given: HTTPRequestMirrorFilter | undefined,
  namespace: string,
  at: Path,
  findings: Findings,
): Mirror | false | undefined {
  if (given === undefined) return findings.add('UnsupportedValue', at, 'is required');
  const { backendRef, percent, fraction } = given;
  const parts: readonly (readonly [object, Path, readonly string[]])[] = [
    [given, at, ['backendRef', 'percent', 'fraction']],
    [backendRef, [...at, 'backendRef'], TARGET_FIELDS],
    [fraction ?? {}, [...at, 'fraction'], ['numerator', 'denominator']],
  ];
  if (parts.some(([part, path, known]) => findings.ignoredFields(part, path, known, WITHOUT_FILTER)))
    return false;
  const share =
    fraction === undefined
      ? ((percent ?? 100) / 100) * MILLION
      : (fraction.numerator / (fraction.denominator ?? 100)) * MILLION;
  if (!(share >= 0 && share <= MILLION)) {
    return findings.add('UnsupportedValue', at, 'the share of requests must be from 0 to 1');
  }
  const target = parseTarget(backendRef, namespace, [...at, 'backendRef'], findings);
  return target ? { ...target, share: Math.round(share) } : false;
}

function parseRedirect(
  given: HTTPRequestRedirectFilter | undefined,
  matches: readonly Match[],
  at: Path,
  findings: Findings,
): Redirect | undefined {
  if (given === undefined) return findings.add('UnsupportedValue', at, 'is required');
  const { scheme, hostname, port, path: modifier, statusCode: status = 302, ...rest } = given;
  findings.unknownFields(rest, at, []);
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    return findings.add('UnsupportedValue', [...at, 'scheme'], `${shown(scheme)} is not http or https`);
  }
  if (!STATUSES.includes(status)) {
    return findings.add('UnsupportedValue', [...at, 'statusCode'], `must be one of ${STATUSES.join(', ')}`);
  }
  if (hostname !== undefined && !checkHost(hostname, at, findings)) return undefined;
  const path = parsePathModifier(modifier, matches, [...at, 'path'], findings);
  return {
    ...(scheme !== undefined && { scheme }),
    ...(hostname !== undefined && { hostname }),
    ...(port !== undefined && { port }),
    ...(path && { path }),
    status,
  };
}

function parsePathModifier(
  given: HTTPPathModifier | undefined,
  matches: readonly Match[],
  at: Path,
  findings: Findings,
): NewPath | undefined {
  if (given === undefined || findings.unknownFields(given, at, FIELDS_OF_PATH)) return undefined;
  if (given.type === 'ReplaceFullPath') {
    const { replaceFullPath: full = '' } = given;
    const path = full.startsWith('/') ? full : `/${full}`;
    if (PATH.test(path)) return { full: path };
    return findings.add('UnsupportedValue', [...at, 'replaceFullPath'], `${shown(full)} is not a path`);
  }
  if (given.type !== 'ReplacePrefixMatch') {
    return findings.add('UnsupportedValue', [...at, 'type'], `${shown(given.type)} is not supported`);
  }
  const { replacePrefixMatch: given2 = '' } = given;
  const replacement = withoutEndingSlash(given2.startsWith('/') ? given2 : `/${given2}`);
  if (!PATH.test(replacement || '/')) {
    return findings.add('UnsupportedValue', [...at, 'replacePrefixMatch'], `${shown(given2)} is not a path`);
  }
  const [match, ...others] = matches;
  if (match?.path.type !== 'PathPrefix' || others.length > 0) {
    return findings.add(
      'UnsupportedValue',
      at,
      'ReplacePrefixMatch needs exactly one match, of type PathPrefix',
    );
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
  at: Path,
  findings: Findings,
): Target | undefined {
  if (group !== '' || kind !== 'Service') {
    const message = `${shown(group === '' ? kind : `${group}/${kind}`)} is not supported: use a Service`;
    return findings.add('InvalidKind', at, message);
  }
  if (port === undefined)
    return findings.add('BackendNotFound', at, 'has no port: add a port of the Service');
  return { service: `${namespace ?? ownNamespace}/${name}`, port };
}
