import { ApiError, isTooLargeResourceVersion, TransportError } from '../api/api-error.ts';
import type { Method } from './transport.ts';

const MAX_ATTEMPTS = 4;
const FIRST_RETRY_MS = 100;
/** A longer wait is the caller's own to plan. */
const MAX_RETRY_MS = 5_000;

/** The connection ended under the request, often a kept one that the server had just closed. */
const CUT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNABORTED']);

/**
 * How long to wait before a failed attempt is made again, in milliseconds; undefined where that is not ours to decide.
 * As client-go (rest/with_retry.go): what the server put off (429, 5xx with Retry-After) was not done, so any verb
 * may be repeated; an unanswered request may have been done, so only a read is. Never sooner than the server asks.
 */
export function retryDelay(method: Method, error: unknown, attempt: number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const backoff = FIRST_RETRY_MS * 2 ** (attempt - 1);
  if (error instanceof ApiError) {
    const delay = Math.max(error.retryAfterMs ?? 0, backoff);
    return wasPutOff(error) && delay <= MAX_RETRY_MS ? delay : undefined;
  }
  if (!(error instanceof TransportError)) return undefined;
  const neverSent = error.code === 'ECONNREFUSED';
  return neverSent || (method === 'GET' && CUT_CODES.has(error.code)) ? backoff : undefined;
}

function wasPutOff(error: ApiError): boolean {
  // The newest state can be listed at once: no use waiting for the server to catch up.
  if (isTooLargeResourceVersion(error)) return false;
  return error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined);
}
