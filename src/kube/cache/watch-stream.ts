import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { own, ownString } from '../../util/json.ts';
import {
  ApiError,
  apiErrorFrom,
  isExpired,
  isTooLargeResourceVersion,
  TransportError,
} from '../api/api-error.ts';
import { linkedAbort } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';

/** An event of a watch (meta/v1 WatchEvent) other than ERROR; its object is not decoded. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: unknown;
  readonly resourceVersion: string;
}

export type WatchEvents = AsyncGenerator<WatchEvent, void, undefined>;

/**
 * Events in one turn of the event loop. Without a limit, a burst of 1.5 MB is decoded in one turn: 10 ms and more in which
 * the webhook of this process answers no review.
 */
const SLICE = 50;

/**
 * The events of a watch until the server ends it. After `stallMs` without an event it fails: a half-open connection (a
 * firewall dropped it, the node vanished) gives no error.
 * @throws ApiError for an ERROR event; TransportError `ESTALLED`, or the error of the stream; TypeError for a value
 * that is not an event; the signal's reason.
 */
export async function* watchEvents(
  open: (signal: AbortSignal) => AsyncIterable<unknown>,
  clock: Clock,
  stallMs: number,
  signal: AbortSignal,
): WatchEvents {
  signal.throwIfAborted();
  const { controller, unlink } = linkedAbort(signal);
  let heardAt = clock.now();
  // One timer, not one for each event.
  let timer = clock.setTimer(stallMs, check);
  function check(): void {
    const left = heardAt + stallMs - clock.now();
    if (left > 0) timer = clock.setTimer(left, check);
    else controller.abort(new TransportError(`no event for ${stallMs} ms`, 'ESTALLED'));
  }
  let taken = 0;
  try {
    for await (const raw of open(controller.signal)) {
      heardAt = clock.now();
      yield decodeWatchEvent(raw);
      if (++taken % SLICE === 0) await eventLoopTurn();
      // After the abort, the rest of the stream is dropped.
      signal.throwIfAborted();
    }
  } finally {
    timer.cancel();
    unlink();
  }
}

function decodeWatchEvent(value: unknown): WatchEvent {
  const [type, object] = [own(value, 'type'), own(value, 'object')];
  switch (type) {
    case 'ERROR':
      throw apiErrorFrom(500, object);
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK': {
      const resourceVersion = ownString(own(object, 'metadata'), 'resourceVersion');
      if (!resourceVersion)
        throw new TypeError('expected a watch event whose object has a metadata.resourceVersion');
      return { type, object, resourceVersion };
    }
    default:
      throw new TypeError(`expected a watch event, got ${JSON.stringify(value)?.slice(0, 80)}`);
  }
}

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
    super('the watch ended at once, without an event', 'ESHORTWATCH');
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
function isPutOff(error: unknown): boolean {
  return error instanceof ApiError
    ? error.status === 429
    : error instanceof TransportError && error.code === 'ECONNREFUSED';
}

/** The server does not have the resourceVersion, no longer or not yet: only the newest state is available. */
function isUnavailable(error: unknown): boolean {
  return isExpired(error) || isTooLargeResourceVersion(error);
}
