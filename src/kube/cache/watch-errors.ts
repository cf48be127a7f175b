import { ApiError, isExpired, isTooLargeResourceVersion, TransportError } from '../api/api-error.ts';

/** After this many failed watches in a row without an event, a list follows. */
const MAX_FAILED_WATCHES = 5;
/** Reasons for failures of the server, not of the request; an empty one is a proxy's. */
const PASSING_REASONS: ReadonlySet<string> = new Set([
  '',
  'InternalError',
  'ServerTimeout',
  'ServiceUnavailable',
  'Timeout',
]);

/** The server ended a watch at once, without an event (client-go's VeryShortWatchError). */
export class ShortWatchError extends TransportError {
  constructor() {
    super('the watch ended at once, without an event', 'ESHORTWATCH', undefined);
  }
}

/** Whether a failed watch can be opened again at its last resourceVersion; if not, only a list helps. */
export function mayResumeWatch(error: unknown, failedInARow: number): boolean {
  if (isPutOff(error)) return true;
  if (failedInARow > MAX_FAILED_WATCHES || isUnavailable(error)) return false;
  if (error instanceof TransportError) return !(error instanceof ShortWatchError);
  return error instanceof ApiError && error.status >= 500 && PASSING_REASONS.has(error.reason);
}

/** The server is busy or restarting: no event was missed, and a list would only add to its load. */
export function isPutOff(error: unknown): boolean {
  return error instanceof ApiError
    ? error.status === 429
    : error instanceof TransportError && error.code === 'ECONNREFUSED';
}

/** The server does not have the resourceVersion, no longer or not yet: only the newest state is available. */
export function isUnavailable(error: unknown): boolean {
  return isExpired(error) || isTooLargeResourceVersion(error);
}
