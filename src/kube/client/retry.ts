import { ApiError, isTooLargeResourceVersion, TransportError } from '../api/api-error.ts';
import type { Method } from './transport.ts';

const MAX_ATTEMPTS = 4;
const FIRST_RETRY_MS = 100;
/** The caller must plan a longer wait itself. */
const MAX_RETRY_MS = 5_000;

/** The connection ended during the request; often the server had just closed an idle one. */
const CUT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ECONNABORTED']);

/**
 * How long to wait before a failed attempt is retried, in milliseconds; undefined if it must not be retried here.
 * The rules are client-go's (rest/with_retry.go). A request that the server put off (429, 5xx with Retry-After) had no
 * effect, so any verb is retried. An unanswered request may have had one, so only a read is. Respects Retry-After.
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
  // The newest state can be listed at once, without waiting for the server to catch up.
  if (isTooLargeResourceVersion(error)) return false;
  return error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined);
}
