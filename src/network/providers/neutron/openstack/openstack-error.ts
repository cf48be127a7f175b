import { TransportError } from '../../../../kube/api/api-error.ts';

/** What an OpenStack service said when it did not do what it was asked. */
export class OpenStackError extends Error {
  override readonly name = 'OpenStackError';
  /** HTTP status, for example 409. */
  readonly status: number;
  /** Neutron's own name of what is wrong, for example `NetworkInUse`; empty where it gave none. */
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** The answer is not what the API says it is. The `message` says what was expected and what came. */
export class UnusableAnswerError extends Error {
  override readonly name = 'UnusableAnswerError';
}

/** There is nothing to reach OpenStack by, or it cannot be used; the message says what to write where. */
export class NotConfiguredError extends Error {
  override readonly name = 'NotConfiguredError';
}

const MAX_MESSAGE_LENGTH = 512;

/**
 * The error for an answer that is no success: `{"NeutronError": {type, message}}` of Neutron, `{"error": {title,
 * message}}` of Keystone, or whatever a proxy put in their place, quoted and cut.
 */
export function openStackErrorFrom(what: string, status: number, body: unknown): OpenStackError {
  const fields = recordIn(body, 'NeutronError') ?? recordIn(body, 'error') ?? {};
  const type = [fields.type, fields.title].find((value) => typeof value === 'string') ?? '';
  const said = typeof fields.message === 'string' ? fields.message : typeof body === 'string' ? body : '';
  const message = said.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE_LENGTH);
  return new OpenStackError(status, type, `${what}: ${status}${message === '' ? '' : ` ${message}`}`);
}

/** What was to be changed or deleted is not there (any more). */
export function isGone(error: unknown): boolean {
  return error instanceof OpenStackError && error.status === 404;
}

/** Somebody wrote in between: the revision that the write was decided on is not the newest. */
export function isStaleRevision(error: unknown): boolean {
  return error instanceof OpenStackError && error.status === 412;
}

/** Ports, or other things of users, are still on it. */
export function isInUse(error: unknown): error is OpenStackError {
  return error instanceof OpenStackError && error.status === 409 && error.type.endsWith('InUse');
}

const UNAVAILABLE: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/** OpenStack itself is not to be had: not set up, not reachable, not letting us in, or answering nonsense. */
export function isUnavailable(error: unknown): error is Error {
  if (error instanceof OpenStackError) {
    // A redirect, which is not followed, leads away from the API.
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
