import { ApiError, TransportError } from '../api/api-error.ts';
import type { Logger } from '../util/log.ts';

/**
 * Logs failures that the informer retries as warnings, and a handler that threw or an unreadable object as errors. No
 * warnings are a server that asks for a later retry, such as for a definition that was just created, and a quiet watch:
 * servers need not send bookmarks. If the connection is dead, the next watch fails.
 */
export function informerLog(log: Logger, resource: string) {
  return (err: unknown, doing: 'list' | 'watch' | 'read' | 'handle'): void => {
    if (doing === 'handle') log.error({ resource, err }, 'event handler threw');
    else if (doing === 'read')
      log.error({ resource, err }, 'cannot read object: its last state stays in the cache');
    else {
      const isExpected =
        (err instanceof ApiError && err.status === 429) ||
        (err instanceof TransportError && err.code === 'ESTALLED');
      const level = isExpected ? 'info' : 'warn';
      const reason = err instanceof Error ? err.message : String(err);
      log[level]({ resource, doing, reason }, 'informer interrupted');
    }
  };
}
