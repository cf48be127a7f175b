import type { Clock } from '../workqueue/clock.ts';
import { TransportError } from './api-error.ts';

/** An event of a watch (meta/v1 WatchEvent), its object not yet narrowed. */
export type WatchEvent =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
      readonly object: unknown;
      readonly resourceVersion: string;
    }
  | { readonly type: 'ERROR'; readonly object: unknown };

/** Throws a TypeError for anything that is no watch event, or one without a resourceVersion to go on from. */
export function narrowWatchEvent(value: unknown): WatchEvent {
  if (typeof value !== 'object' || value === null || !('type' in value) || !('object' in value)) {
    throw new TypeError('expected a watch event, got an object without type and object');
  }
  const { type, object } = value;
  switch (type) {
    case 'ERROR':
      return { type, object };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK': {
      return { type, object, resourceVersion: resourceVersionOf(object) };
    }
    default:
      throw new TypeError(`expected a watch event, got type ${JSON.stringify(type)}`);
  }
}

function resourceVersionOf(object: unknown): string {
  const metadata =
    typeof object === 'object' && object !== null && 'metadata' in object ? object.metadata : null;
  const version =
    typeof metadata === 'object' && metadata !== null && 'resourceVersion' in metadata
      ? metadata.resourceVersion
      : undefined;
  if (typeof version !== 'string' || version === '') {
    throw new TypeError('expected a watch event whose object has a metadata.resourceVersion');
  }
  return version;
}

/**
 * Yields what the stream yields; when nothing came for `stallMs`, ends it with a TransportError `ESTALLED`: a
 * half-open connection (a firewall forgot it, the node vanished) never says so itself. One timer, not one an event.
 */
export async function* unlessStalled(
  open: (signal: AbortSignal) => AsyncIterable<unknown>,
  stallMs: number,
  clock: Clock,
  outer: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer.reason);
  outer.addEventListener('abort', onAbort, { once: true });
  let heardAt = clock.now();
  let timer = clock.setTimer(stallMs, check);
  function check(): void {
    const left = heardAt + stallMs - clock.now();
    if (left > 0) timer = clock.setTimer(left, check);
    else
      controller.abort(
        new TransportError(`nothing heard for ${stallMs} ms, no bookmark either`, 'ESTALLED', undefined),
      );
  }
  try {
    for await (const event of open(controller.signal)) {
      heardAt = clock.now();
      yield event;
    }
  } finally {
    timer.cancel();
    outer.removeEventListener('abort', onAbort);
  }
}
