import { clip } from '../../util/clip.ts';
import { isObject, type JsonObject, type JsonValue, own } from '../../util/json.ts';
import type { PatchOperation } from '../../util/patch.ts';
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

/** The answer of a webhook to a review. */
export type AdmissionAnswer =
  | {
      readonly allowed: true;
      /** The patch; without one, the object is not changed. */
      readonly operations?: readonly PatchOperation[];
      /** Warnings for the client, one line each; kubectl prints them. */
      readonly warnings?: readonly string[];
    }
  | {
      readonly allowed: false;
      /** The HTTP status. The other fields belong to the Status (meta/v1). */
      readonly code: number;
      readonly reason?: string;
      readonly message: string;
      readonly details?: StatusDetails;
    };

/** The details of a Status: the refused object, and each of its faults. */
interface StatusDetails {
  readonly kind: string;
  readonly name: string;
  readonly causes: readonly { readonly reason: string; readonly field: string; readonly message: string }[];
}

/**
 * Handles the reviews of one webhook. An error becomes HTTP 500, and the failurePolicy applies. The signal aborts at the
 * deadline of the call.
 */
export type ReviewHandler = (request: AdmissionRequest, signal: AbortSignal) => Promise<AdmissionAnswer>;

/**
 * Beyond 4096 characters in total, the API server cuts each to 256 (k8s.io/apiserver, endpoints/filters/warning.go).
 */
const MAX_WARNING = 256;
const MAX_WARNINGS = 10;

/** The body of the answer. A patch has its type beside it; without operations, both are absent. */
export function formatReview(uid: string, answer: AdmissionAnswer): string {
  const { allowed, ...status } = answer;
  if (!allowed) return JSON.stringify({ ...REVIEW, response: { uid, allowed, status } });
  const { operations = [], warnings = [] } = answer;
  const patch = operations.length > 0 && { patchType: 'JSONPatch', patch: patchText(operations) };
  const heard = warnings.length > 0 && { warnings: cutWarnings(warnings) };
  return JSON.stringify({ ...REVIEW, response: { uid, allowed, ...patch, ...heard } });
}

/** The texts of frozen patches, which are those of many pods. */
const frozenTexts = new WeakMap<readonly PatchOperation[], string>();

/** The patch as the API server wants it: JSON in base64. */
function patchText(operations: readonly PatchOperation[]): string {
  const known = frozenTexts.get(operations);
  if (known !== undefined) return known;
  const text = Buffer.from(JSON.stringify(operations)).toString('base64');
  if (Object.isFrozen(operations)) frozenTexts.set(operations, text);
  return text;
}

function cutWarnings(warnings: readonly string[]): readonly string[] {
  const cut = warnings.slice(0, MAX_WARNINGS).map((warning) => clip(warning, MAX_WARNING));
  const more = warnings.length - cut.length;
  return more === 0 ? cut : [...cut, `and ${more} more`];
}
