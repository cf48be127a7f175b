import { expect, test } from '@jest/globals';
import { Place } from '../../../../../src/addons/routes/compile/findings.ts';
import { parseFilters } from '../../../../../src/addons/routes/compile/parse-filters.ts';
import { ANY, parseMatch } from '../../../../../src/addons/routes/compile/parse-match.ts';

/** What is read of a value, which may have what a later version of the CRD has, and what is wrong with it. */
function outcome(read: (value: never, at: Place) => unknown, value: object): readonly unknown[] {
  const at = new Place();
  const result = read(value as never, at);
  return [result, ...at.faults.map(({ reason, path, message }) => `${reason} ${path} ${message}`)];
}

const ofA = { ...ANY, path: { type: 'PathPrefix' as const, value: '/a' } };
const scope = { matches: [ofA], namespace: 'shop' };
/** A filter has its values in a field of its name. */
const filter = (type: string, value?: object) => ({
  type,
  [type.replace(/^(URL|CORS|[A-Z])/, (start) => start.toLowerCase())]: value,
});
const to = { name: 'web', port: 80 };
const none = { modifiers: {}, mirrors: [] };
const WITHOUT = 'is not supported, so the rule works without the filter';
const regex = (value: string) => ({ type: 'RegularExpression', value });

// biome-ignore format: a line for each case
test.each<readonly [string, object | undefined, unknown, ...string[]]>([
  ['RequestHeaderModifier', { set: [{ name: 'A', value: '1' }, { name: 'a', value: '2' }], remove: ['c'] }, { ...none, modifiers: { request: { set: [{ name: 'A', value: '1' }], add: [], remove: ['c'] } } }],
  ['ResponseHeaderModifier', { add: [{ name: 'b', value: '\t' }] }, { ...none, modifiers: { response: { set: [], add: [{ name: 'b', value: '\t' }], remove: [] } } }],
  ['RequestHeaderModifier', { set: [{ name: 'a b', value: '\n' }], remove: ['Host', 'Upgrade', 'X-Envoy-Initializer-Mirror'] }, undefined,
    'UnsupportedValue [0].requestHeaderModifier.set[0].name "a b" is not a valid header name', 'UnsupportedValue [0].requestHeaderModifier.set[0].value "\\n" has control characters',
    'UnsupportedValue [0].requestHeaderModifier.remove[0] "Host" cannot be changed here: use hostname in a URLRewrite filter', 'UnsupportedValue [0].requestHeaderModifier.remove[1] "Upgrade" cannot be changed: the sidecar sets it for each connection',
    'UnsupportedValue [0].requestHeaderModifier.remove[2] "X-Envoy-Initializer-Mirror" is reserved for the sidecar'],
  ['RequestMirror', { backendRef: { ...to, namespace: 'b' }, percent: 50 }, { ...none, mirrors: [{ service: 'b/web', port: 80, share: 500_000 }] }],
  ['RequestMirror', { backendRef: to, fraction: { numerator: 1 } }, { ...none, mirrors: [{ service: 'shop/web', port: 80, share: 10_000 }] }],
  ['RequestMirror', { backendRef: to, percent: 101 }, undefined, 'UnsupportedValue [0].requestMirror the share of requests must be from 0 to 1'],
  ['RequestMirror', { backendRef: { ...to, group: 'g', kind: 'K' } }, none, 'InvalidKind [0].requestMirror.backendRef "g/K" is not supported: use a Service'],
  ['RequestMirror', { backendRef: { ...to, more: 1 } }, none, `FieldIgnored [0].requestMirror.backendRef.more ${WITHOUT}`],
  ['RequestRedirect', { scheme: 'https', hostname: 'a.b', port: 8443, path: { type: 'ReplaceFullPath', replaceFullPath: 'b' } }, { ...none, redirect: { scheme: 'https', hostname: 'a.b', port: 8443, path: { full: '/b' }, status: 302 } }],
  ['RequestRedirect', { statusCode: 304 }, undefined, 'UnsupportedValue [0].requestRedirect.statusCode must be one of 301, 302, 303, 307, 308'],
  ['URLRewrite', { hostname: 'a.b', path: { type: 'ReplacePrefixMatch', replacePrefixMatch: 'b/' } }, { ...none, hostname: 'a.b', path: { prefix: '/a', replacement: '/b' } }],
  ['URLRewrite', { hostname: '-', path: { type: 'X' } }, undefined, 'UnsupportedValue [0].urlRewrite.hostname "-" is not a host name', 'UnsupportedValue [0].urlRewrite.path.type "X" is not supported'],
  ['CORS', { allowOrigins: ['https://*.a.b:8443'], exposeHeaders: ['*', 'b'], allowCredentials: true }, { ...none, cors: { allowOrigins: ['https://*.a.b:8443'], allowMethods: [], allowHeaders: [], exposeHeaders: ['b'], maxAge: 5, allowCredentials: true } }],
  ['CORS', { allowOrigins: ['a'], allowHeaders: ['('] }, undefined, 'UnsupportedValue [0].cors.allowOrigins[0] "a" is not an origin', 'UnsupportedValue [0].cors.allowHeaders[0] "(" is not a header name'],
  ['ExtensionRef', {}, undefined, 'InvalidKind [0].extensionRef extensions are not supported: remove the filter'],
  ['constructor', {}, undefined, 'UnsupportedValue [0].type the filter "constructor" is not supported'],
])('of the filter %s with %j, the sidecar gets %j, and the author reads: %j', (type, value, ...expected) => {
  expect(outcome((given: never, at) => parseFilters(given, scope, at), [filter(type, value)])).toEqual(expected);
});

// biome-ignore format: a line for each case
test.each<readonly [object, unknown, ...string[]]>([
  [{ path: { value: '/a//' }, method: 'GET' }, { match: { ...ofA, method: 'GET' } }],
  [{ path: regex('(') }, { match: ANY, meant: { ...ANY, path: regex('(') } }, 'UnsupportedValue path.value the regular expression "(" is invalid: missing closing ): `(`'],
  [{ path: { type: 'X', value: '/b' }, method: 'G T' }, { match: ANY, meant: { ...ANY, path: { type: 'Exact', value: '/b' }, method: 'G T' } }, 'UnsupportedValue path.type "X" is not supported', 'UnsupportedValue method "G T" is not a method'],
  [{ path: { value: '/a?' } }, { match: ANY, meant: { ...ANY, path: { type: 'PathPrefix', value: '/a?' } } }, 'UnsupportedValue path.value "/a?" is not a path: use one that begins with / and has no query'],
  [{ headers: [{ name: 'B', value: '1' }, { name: 'a', ...regex('2') }, { name: 'b', value: '3' }] }, { match: { ...ANY, headers: [{ name: 'a', value: '2', isRegex: true }, { name: 'b', value: '1', isRegex: false }] } }],
  [{ queryParams: [{ name: 'a b', value: '1' }] }, { match: ANY, meant: { ...ANY, queryParams: [{ name: 'a b', value: '1', isRegex: true }] } }, 'UnsupportedValue queryParams[0].name "a b" is not a name'],
])('the match %j of an HTTPRoute is %j, and the author reads: %j', (given, ...expected) => {
  expect(outcome(parseMatch, given)).toEqual(expected);
});
