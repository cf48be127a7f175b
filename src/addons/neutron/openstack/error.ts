import { TransportError } from '../../../kube/api/api-error.ts';

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
export function openStackErrorFrom(what: string, status: number, body: unknown): OpenStackError {
  const fields = recordIn(body, 'NeutronError') ?? recordIn(body, 'error') ?? {};
  const type = [fields.type, fields.title].find((value) => typeof value === 'string') ?? '';
  const text = typeof fields.message === 'string' ? fields.message : typeof body === 'string' ? body : '';
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

function recordIn(value: unknown, key: string): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  const inner: unknown = Reflect.get(value, key);
  return typeof inner === 'object' && inner !== null
    ? (inner as Readonly<Record<string, unknown>>)
    : undefined;
}
