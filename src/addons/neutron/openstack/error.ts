import { TransportError } from '../../../kube/api/api-error.ts';
import { isObject, type JsonValue, own, ownString } from '../../../util/json.ts';

/** An error answer of an OpenStack service. */
export class OpenStackError extends Error {
  override readonly name = 'OpenStackError';
  /** HTTP status, for example 409. */
  readonly status: number;
  /** Neutron's name of the error, for example `NetworkInUse`; empty without one. */
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** The answer does not follow the API. The message says what was expected. */
export class UnusableAnswerError extends Error {
  override readonly name = 'UnusableAnswerError';
}

/** Credentials are missing or invalid. The message says what to write where. */
export class NotConfiguredError extends Error {
  override readonly name = 'NotConfiguredError';
}

const MAX_MESSAGE_LENGTH = 512;

/**
 * The error for an unsuccessful answer: `{"NeutronError": {type, message}}` of Neutron, `{"error": {title, message}}`
 * of Keystone, or the start of any other text, for example of a proxy.
 */
export function openStackErrorFrom(
  what: string,
  status: number,
  body: JsonValue | undefined,
): OpenStackError {
  const fields = [own(body, 'NeutronError'), own(body, 'error')].find(isObject);
  const type = ownString(fields, 'type') ?? ownString(fields, 'title') ?? '';
  const text = ownString(fields, 'message') ?? (typeof body === 'string' ? body : '');
  const message = text.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE_LENGTH);
  return new OpenStackError(status, type, `${what}: ${status}${message === '' ? '' : ` ${message}`}`);
}

export function isGone(error: unknown): boolean {
  return error instanceof OpenStackError && error.status === 404;
}

/** Another client wrote in between: the write is based on an outdated revision. */
export function isStaleRevision(error: unknown): boolean {
  return error instanceof OpenStackError && error.status === 412;
}

/** Ports or other resources of users still use it. */
export function isInUse(error: unknown): error is OpenStackError {
  return error instanceof OpenStackError && error.status === 409 && error.type.endsWith('InUse');
}

const UNAVAILABLE: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/** OpenStack is not usable: not configured, not reachable, refuses access, or answers nonsense. */
export function isUnavailable(error: unknown): error is Error {
  if (error instanceof OpenStackError) {
    // A redirect leads away from the API, so the client does not follow it.
    return error.status < 400 || error.status >= 500 || UNAVAILABLE.has(error.status);
  }
  return (
    error instanceof TransportError ||
    error instanceof UnusableAnswerError ||
    error instanceof NotConfiguredError
  );
}
