import { apiErrorFrom, TransportError } from '../api/api-error.ts';
import { linkedAbort } from '../util/linked-abort.ts';
import type { Clock } from '../workqueue/clock.ts';

/** An event of a watch (meta/v1 WatchEvent) that is no error; its object not yet decoded. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: unknown;
  readonly resourceVersion: string;
  /** Of a bookmark: all that was there when the watch began has been sent (KEP-3157). */
  readonly endsInitialEvents: boolean;
}

export type WatchEvents = AsyncGenerator<WatchEvent, void, undefined>;

export interface WatchStreamOptions {
  readonly clock: Clock;
  /** Silence, in milliseconds, after which the connection is taken for dead. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

/**
 * The events of a watch until the server ends it. When nothing came for `stallMs` it is given up: a half-open
 * connection (a firewall forgot it, the node vanished) never says so itself.
 * @throws ApiError what an ERROR event holds; TransportError `ESTALLED`, or what broke the stream; TypeError for what
 * is no event; the signal's reason.
 */
export async function* watchEvents(
  open: (signal: AbortSignal) => AsyncIterable<unknown>,
  { clock, stallMs, signal }: WatchStreamOptions,
): WatchEvents {
  signal.throwIfAborted();
  const { controller, unlink } = linkedAbort(signal);
  let heardAt = clock.now();
  // One timer, not one for each event.
  let timer = clock.setTimer(stallMs, check);
  function check(): void {
    const left = heardAt + stallMs - clock.now();
    if (left > 0) timer = clock.setTimer(left, check);
    else controller.abort(new TransportError(`nothing heard for ${stallMs} ms`, 'ESTALLED', undefined));
  }
  try {
    for await (const raw of open(controller.signal)) {
      heardAt = clock.now();
      yield decodeWatchEvent(raw);
      // What the stream still holds is not for who has stopped.
      signal.throwIfAborted();
    }
  } finally {
    timer.cancel();
    unlink();
  }
}

function decodeWatchEvent(value: unknown): WatchEvent {
  const { type, object } = recordOf(value);
  switch (type) {
    case 'ERROR':
      throw apiErrorFrom(500, object);
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = recordOf(recordOf(object).metadata);
      if (typeof resourceVersion !== 'string' || resourceVersion === '') {
        throw new TypeError('expected a watch event whose object has a metadata.resourceVersion');
      }
      const endsInitialEvents =
        type === 'BOOKMARK' && recordOf(annotations)['k8s.io/initial-events-end'] === 'true';
      return { type, object, resourceVersion, endsInitialEvents };
    }
    default:
      throw new TypeError(`expected a watch event, got ${JSON.stringify(value)?.slice(0, 80)}`);
  }
}

/** The value's fields; none where it is no object. */
function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
