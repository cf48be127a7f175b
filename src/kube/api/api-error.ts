import { isRecord, own, ownObjects, ownString } from '../../util/json.ts';

/** A field that the API server's validation refused. */
export interface InvalidField {
  /** Such as `spec.containers[0].image`. */
  readonly field: string;
  readonly message: string;
}

/** The API server refused or failed a request. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status, for example 409. */
  readonly status: number;
  /** Machine-readable reason of the Status body, for example `AlreadyExists`; empty if the body has none. */
  readonly reason: string;
  /** How long the server asks the client to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The `details.causes[].reason` values, for example `ResourceVersionTooLarge`. */
  readonly causes: readonly string[];
  /** `details.kind`: what the error is about, for example `Pod`; empty if the body does not say. */
  readonly kind: string;
  /** The invalid fields, from the `details.causes[]` that name one. */
  readonly fields: readonly InvalidField[];

  constructor(
    init: Pick<ApiError, 'status' | 'reason' | 'message'> &
      Partial<Pick<ApiError, 'retryAfterMs' | 'causes' | 'kind' | 'fields'>>,
  ) {
    super(init.message);
    this.status = init.status;
    this.reason = init.reason;
    this.retryAfterMs = init.retryAfterMs;
    this.causes = init.causes ?? [];
    this.kind = init.kind ?? '';
    this.fields = init.fields ?? [];
  }
}

/** The request got no complete answer: refused, reset, cut, or too slow. The `cause` says which. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** The system's or the HTTP library's code, for example `ECONNREFUSED`. */
  readonly code: string;

  constructor(message: string, code: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Wraps an error of the system or the HTTP library, which both have a code, in a TransportError that names the request.
 * Returns any other error unchanged.
 */
export function asTransportError(error: unknown, what: string): unknown {
  if (error instanceof TransportError) return error;
  // If several addresses were tried, the error of the first one.
  const cause = isRecord(error) && Array.isArray(error.errors) ? error.errors[0] : error;
  if (!isRecord(cause) || cause.code === undefined) return error;
  return new TransportError(`${what}: ${cause.message}`, String(cause.code), error);
}

const MAX_MESSAGE_LENGTH = 1024;

/**
 * Builds the error for a Status object (meta/v1 `Status`): an HTTP body, or the object of a watch's ERROR event.
 * Any other text, such as a proxy's error page, is quoted and cut to a readable length.
 */
export function apiErrorFrom(status: number, body: unknown, retryAfterHeader?: string): ApiError {
  const code = own(body, 'code');
  const details = own(body, 'details');
  const causes = ownObjects(details, 'causes');
  const quoted = typeof body === 'string' && body !== '' ? `: ${body}` : '';
  const message = ownString(body, 'message') || `the API server returned ${status}${quoted}`;
  return new ApiError({
    status: typeof code === 'number' ? code : status,
    reason: ownString(body, 'reason') ?? '',
    message: message.slice(0, MAX_MESSAGE_LENGTH),
    retryAfterMs: seconds(retryAfterHeader) ?? seconds(own(details, 'retryAfterSeconds')),
    causes: causes.flatMap((cause) => ownString(cause, 'reason') ?? []),
    kind: ownString(details, 'kind') ?? '',
    fields: causes.flatMap((cause) => {
      const [field, said] = [ownString(cause, 'field'), ownString(cause, 'message')];
      return field && said !== undefined ? [{ field, message: said.slice(0, MAX_MESSAGE_LENGTH) }] : [];
    }),
  });
}

/** How long the server asks the client to wait, in milliseconds; 0 if it does not say. */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

/** The client lacks the permission, or an admission plugin refused the request (for example quota or pod security). */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** The object, or the resource type itself (a CRD that is not installed), does not exist. */
export function isNotFound(error: unknown): boolean {
  return answered(error, 404);
}

/** What was read; undefined if it does not exist. */
export async function ifFound<T>(read: Promise<T>): Promise<T | undefined> {
  return await read.catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
}

/** What was read; undefined if it does not exist, or the client may not read it. */
export async function ifReadable<T>(read: Promise<T>): Promise<T | undefined> {
  return await ifFound(read).catch((error: unknown) => {
    if (!isForbidden(error)) throw error;
    return undefined;
  });
}

/** The object to create exists already. */
export function isAlreadyExists(error: unknown): boolean {
  return answered(error, 409) && error.reason === 'AlreadyExists';
}

/** A precondition failed: another client has written the object meanwhile. Not a quota that many use up at a time. */
export function isConflict(error: unknown): boolean {
  return answered(error, 409) && error.reason !== 'AlreadyExists' && !error.kind.endsWith('resourcequotas');
}

/** The request or its object is wrong, or an admission policy or webhook denied it. A failed JSON patch is one, too. */
export function isInvalid(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 422 || error.status === 400);
}

/**
 * Another writer was faster: the object exists already, has changed, or a `test` of a JSON patch failed. The watch
 * delivers its write. The API server answers 422 to a failed `test` and to what a ValidatingAdmissionPolicy denies or
 * validation refuses, but only these two name the kind.
 */
export function isOvertaken(error: unknown): boolean {
  return isAlreadyExists(error) || isConflict(error) || (answered(error, 422) && error.kind === '');
}

/** The API server, an admission policy or a webhook does not want this: nobody was faster, and nothing is gone. */
export function isRefused(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (isDenial(error) || REFUSED_WITH_500.test(error.message)) return true;
  if (isOvertaken(error) || isNamespaceTerminating(error)) return false;
  return error.status >= 400 && error.status < 500 && !PASSING.has(error.status);
}

/** What is gone, is written by others, took too long, or was asked for too often is not refused. */
const PASSING: ReadonlySet<number> = new Set([404, 408, 409, 410, 429]);
/** What the API server refuses with a 500: a webhook does not answer, or an eviction has two budgets. */
const REFUSED_WITH_500 = /failed calling webhook|more than one PodDisruptionBudget/;

/** The server itself answered with this status: a webhook chooses the status of its denial freely. */
function answered(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status && !isDenial(error);
}

/** The API server begins the message of each denial of a webhook like this, and leaves the rest to the webhook. */
function isDenial({ message }: ApiError): boolean {
  return message.startsWith('admission webhook "');
}

/** The server no longer has the resourceVersion: only a new list helps. */
export function isExpired(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
  );
}

/** The resourceVersion is newer than the server's: it was restored, or a follower lags (KEP-1904). */
export function isTooLargeResourceVersion(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.causes.includes('ResourceVersionTooLarge') ||
      // Servers before 1.19 and some proxies keep only the text.
      (error.status === 504 && error.message.includes('Too large resource version')))
  );
}

/** The creation was refused because its namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.causes.includes('NamespaceTerminating');
}

function seconds(value: unknown): number | undefined {
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof parsed === 'number' && Number.isFinite(parsed) && parsed >= 0 ? parsed * 1000 : undefined;
}
