import { isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import { HttpError } from './http-error.ts';

/** A request of the API server: the fields of an AdmissionRequest (admission.k8s.io/v1) that are used here. */
export interface AdmissionRequest {
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  /** `status`, `ephemeralcontainers`…; empty for the object itself. */
  readonly subResource: string;
  readonly operation: string;
  /** The namespace of the request. The object's own `metadata.namespace` is usually still empty. */
  readonly namespace: string;
  /** The answer echoes it. */
  readonly uid: string;
  /** The name of the object, if it has one already; pods of a workload do not. */
  readonly name: string | undefined;
  /** The created or changed object; absent for DELETE. */
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
  /** True if nothing will be persisted: then there must be no other side effects either. */
  readonly dryRun: boolean;
}

/** The supported version of AdmissionReview. */
export const REVIEW = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' } as const;

/** The longest uid, name or namespace, in characters: a DNS subdomain (RFC 1123). */
const MAX_NAME = 253;

/** Decodes the body of a call. @throws HttpError 400 with the expected and the actual type. */
export function parseReview(body: unknown): AdmissionRequest {
  if (!isObject(body)) throw expected('the body', 'an object', body as JsonValue);
  for (const field of ['apiVersion', 'kind'] as const) {
    if (own(body, field) !== REVIEW[field])
      throw expected(field, JSON.stringify(REVIEW[field]), own(body, field));
  }
  const request = own(body, 'request');
  if (!isObject(request)) throw expected('request', 'an object', request);
  const text = (...path: readonly [string, string?]) => string(request, path);
  const optional = (key: string) => ((own(request, key) ?? null) === null ? '' : text(key));
  if (text('uid') === '') throw expected('request.uid', 'a uid', '');
  return {
    uid: text('uid'),
    kind: { group: text('kind', 'group'), version: text('kind', 'version'), kind: text('kind', 'kind') },
    resource: {
      group: text('resource', 'group'),
      version: text('resource', 'version'),
      resource: text('resource', 'resource'),
    },
    subResource: optional('subResource'),
    operation: text('operation'),
    name: optional('name') || undefined,
    namespace: optional('namespace'),
    object: optionalObject(request, 'object'),
    oldObject: optionalObject(request, 'oldObject'),
    dryRun: own(request, 'dryRun') === true,
  };
}

/** A text of limited length, since these are echoed, logged or looked up. */
function string(request: JsonObject, [key, member]: readonly [string, string?]): string {
  const value = member === undefined ? own(request, key) : own(own(request, key), member);
  const field = member === undefined ? `request.${key}` : `request.${key}.${member}`;
  if (typeof value !== 'string') throw expected(field, 'a string', value);
  if (value.length > MAX_NAME)
    throw refused(`${field}: expected at most ${MAX_NAME} characters, got ${value.length}`);
  return value;
}

function optionalObject(request: JsonObject, key: string): JsonObject | undefined {
  const value = own(request, key) ?? null;
  if (value === null) return undefined;
  if (!isObject(value)) throw expected(`request.${key}`, 'an object', value);
  return value;
}

/** The error names the type of the value, never its content: it may be a Secret's. */
function expected(field: string, wanted: string, found: JsonValue | undefined): HttpError {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'null' : typeof found;
  return refused(`${field}: expected ${wanted}, got ${kind}`);
}

function refused(problem: string): HttpError {
  return new HttpError(400, `not an AdmissionReview: ${problem}`);
}
