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
import type { Header, HeaderChanges, Match, Mirror, Modifiers, NewPath, Redirect, Target } from './model.ts';
import { PATH, shown, TOKEN, withoutEndingSlash } from './parse-match.ts';

/** What the filters of a rule ask for. */
export interface Filters {
  readonly modifiers: Modifiers;
  readonly mirrors: readonly Mirror[];
  readonly redirect?: Redirect;
  readonly hostname?: string;
  readonly path?: NewPath;
}

/** The headers by which a sidecar finds its way begin so. */
const RESERVED = 'x-envoy-initializer-';
/** How long a message is, and how its connection is used, the sidecar says itself. */
const FRAMING = ['connection', 'content-length', 'transfer-encoding', 'upgrade'];
const HOST = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MILLION = 1_000_000;
const STATUSES = [301, 302, 303, 307, 308];

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
    const before = findings.faults.length;
    if (filter.type !== 'RequestMirror' && seen.has(filter.type)) {
      findings.add('IncompatibleFilters', path, `repeats ${filter.type}: use it once`);
    }
    seen.add(filter.type);
    switch (filter.type) {
      case 'RequestHeaderModifier':
      case 'ResponseHeaderModifier':
        found.modifiers = { ...found.modifiers, ...parseModifier(filter, path, findings) };
        break;
      case 'RequestMirror': {
        const mirror = parseMirror(filter.requestMirror, namespace, [...path, 'requestMirror'], findings);
        if (typeof mirror === 'object') mirrors.push(mirror);
        // The traffic itself does not depend on its copy.
        if (mirror === 'unresolved') continue;
        break;
      }
      case 'RequestRedirect': {
        const redirect = parseRedirect(
          filter.requestRedirect,
          matches,
          [...path, 'requestRedirect'],
          findings,
        );
        if (redirect) found.redirect = redirect;
        break;
      }
      case 'URLRewrite': {
        const { hostname, path: modifier, ...rest } = filter.urlRewrite ?? {};
        const inside = [...path, 'urlRewrite'];
        findings.unknownFields(rest, inside, []);
        if (hostname !== undefined && checkHost(hostname, inside, findings)) found.hostname = hostname;
        const newPath = parsePathModifier(modifier, matches, [...inside, 'path'], findings);
        if (newPath) found.path = newPath;
        break;
      }
      case 'ExtensionRef':
        findings.add(
          'InvalidKind',
          [...path, 'extensionRef'],
          'extensions are not supported: remove the filter',
        );
        break;
      default:
        findings.add(
          'UnsupportedValue',
          [...path, 'type'],
          `the filter ${shown(filter.type)} is not supported`,
        );
    }
    isValid &&= findings.faults.length === before;
  }
  if (seen.has('RequestRedirect') && seen.has('URLRewrite')) {
    findings.add('IncompatibleFilters', at, 'has RequestRedirect and URLRewrite: remove one of them');
    isValid = false;
  }
  return isValid ? { modifiers: {}, ...found, mirrors } : undefined;
}

/** Reads the filters of one backend; undefined if one of them is invalid. Backends only have changes to headers. */
export function parseBackendFilters(
  given: readonly HTTPRouteFilter[] | undefined,
  at: Path,
  findings: Findings,
): Modifiers | undefined {
  const before = findings.faults.length;
  let modifiers: Modifiers = {};
  for (const [index, filter] of (given ?? []).entries()) {
    const path = [...at, index];
    if (filter.type === 'RequestHeaderModifier' || filter.type === 'ResponseHeaderModifier') {
      modifiers = { ...modifiers, ...parseModifier(filter, path, findings) };
    } else {
      const message = `the filter ${shown(filter.type)} is not supported for a backend: move it to the rule`;
      findings.add('UnsupportedValue', [...path, 'type'], message);
    }
  }
  return findings.faults.length === before ? modifiers : undefined;
}

function parseModifier(filter: HTTPRouteFilter, at: Path, findings: Findings): Modifiers {
  return filter.type === 'RequestHeaderModifier'
    ? { request: parseChanges(filter.requestHeaderModifier, [...at, 'requestHeaderModifier'], findings) }
    : { response: parseChanges(filter.responseHeaderModifier, [...at, 'responseHeaderModifier'], findings) };
}

function parseChanges(given: HTTPHeaderFilter = {}, at: Path, findings: Findings): HeaderChanges {
  findings.unknownFields(given, at, ['set', 'add', 'remove']);
  const { set = [], add = [], remove = [] } = given;
  for (const [list, headers] of Object.entries({ set, add })) {
    for (const [index, { name, value }] of headers.entries()) {
      const path = [...at, list, index];
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

function parseMirror(
  given: HTTPRequestMirrorFilter | undefined,
  namespace: string,
  at: Path,
  findings: Findings,
): Mirror | 'unresolved' | undefined {
  if (given === undefined) return findings.add('UnsupportedValue', at, 'is required');
  const { backendRef, percent, fraction, ...rest } = given;
  if (findings.unknownFields(rest, at, [])) return undefined;
  const share =
    fraction === undefined
      ? ((percent ?? 100) / 100) * MILLION
      : (fraction.numerator / (fraction.denominator ?? 100)) * MILLION;
  if (!(share >= 0 && share <= MILLION)) {
    return findings.add('UnsupportedValue', at, 'the share of requests must be from 0 to 1');
  }
  const target = parseTarget(backendRef, namespace, [...at, 'backendRef'], findings);
  return target ? { ...target, share: Math.round(share) } : 'unresolved';
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
