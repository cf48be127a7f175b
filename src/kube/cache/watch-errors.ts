import { ApiError, isExpired, isTooLargeResourceVersion, TransportError } from '../api/api-error.ts';

/** Watches that failed in a row, without one event, before a list is tried in their place. */
const MAX_FAILED_WATCHES = 5;
/** Failures of the server, not of what it was asked; empty is a proxy's. */
const PASSING_REASONS: ReadonlySet<string> = new Set([
  '',
  'InternalError',
  'ServerTimeout',
  'ServiceUnavailable',
  'Timeout',
]);

/** A watch that the server ended at once, without an event (client-go's VeryShortWatchError). */
export class ShortWatchError extends TransportError {
  constructor() {
    super('the watch ended at once, without an event', 'ESHORTWATCH', undefined);
  }
}

/** Whether a failed watch can be opened again at the resourceVersion where it stood; if not, only a list helps. */
export function mayResumeWatch(error: unknown, failedInARow: number): boolean {
  if (isPutOff(error)) return true;
  if (failedInARow > MAX_FAILED_WATCHES || isUnavailable(error)) return false;
  if (error instanceof TransportError) return !(error instanceof ShortWatchError);
  return error instanceof ApiError && error.status >= 500 && PASSING_REASONS.has(error.reason);
}

/** The server is busy, or about to come back: nothing was missed, and a list would only add to its load. */
export function isPutOff(error: unknown): boolean {
  return error instanceof ApiError
    ? error.status === 429
    : error instanceof TransportError && error.code === 'ECONNREFUSED';
}

/** The server does not have the resourceVersion, no longer or not yet: the newest state will have to do. */
export function isUnavailable(error: unknown): boolean {
  return isExpired(error) || isTooLargeResourceVersion(error);
}
