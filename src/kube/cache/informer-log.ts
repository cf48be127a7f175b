import type { Logger } from '../util/log.ts';

/** Logs what an informer mends by itself as a warning, and a handler that threw as the error in our code that it is. */
export function informerLog(log: Logger, resource: string) {
  return (err: unknown, doing: 'list' | 'watch' | 'read' | 'handle'): void => {
    if (doing === 'handle') log.error({ resource, err }, 'an event handler threw');
    else if (doing === 'read')
      log.error({ resource, err }, 'object not readable: it stays as it was last seen');
    else
      log.warn(
        { resource, doing, reason: err instanceof Error ? err.message : String(err) },
        'informer interrupted',
      );
  };
}
