import type { Logger } from '../util/log.ts';

/** Logs failures that the informer retries as warnings, and a handler that threw or an unreadable object as errors. */
export function informerLog(log: Logger, resource: string) {
  return (err: unknown, doing: 'list' | 'watch' | 'read' | 'handle'): void => {
    if (doing === 'handle') log.error({ resource, err }, 'event handler threw');
    else if (doing === 'read')
      log.error({ resource, err }, 'cannot read object: its last state stays in the cache');
    else
      log.warn(
        { resource, doing, reason: err instanceof Error ? err.message : String(err) },
        'informer interrupted',
      );
  };
}
