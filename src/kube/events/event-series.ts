import { ApiError, isAlreadyExists, isNotFound, isRefused, TransportError } from '../api/api-error.ts';
import type { KubeClient } from '../client/client.ts';
import { EVENTS, type EventObject } from './event-object.ts';

/** An Event and its repetitions: the count here, and the part of it that the server has. */
export interface CountedEvent {
  readonly event: EventObject;
  /** How often it was reported, including the first time. */
  count: number;
  /** MicroTime of the last report. */
  lastObservedTime: string;
  /** The time of the last report on the monotonic clock. */
  lastObservedAt: number;
  /** The count that was last written or dropped. */
  writtenCount: number;
  /** Whether the server is believed to have the Event: it deletes it an hour after the last write. */
  exists: boolean;
}

export type EventClient = Pick<KubeClient, 'create' | 'mergePatch'>;

/** Whether a part of the count was neither written nor dropped. */
export function isUnwritten({ count, writtenCount }: CountedEvent): boolean {
  return count > writtenCount;
}

/**
 * Writes the count to the server: creates the Event or patches its series, and creates the Event again if the server
 * has deleted it. Safe to repeat after any failure. (client-go tools/events, recordEvent)
 */
export async function writeEvent(
  client: EventClient,
  counted: CountedEvent,
  signal: AbortSignal,
): Promise<void> {
  const { event, count } = counted;
  // The Event itself is immutable.
  const series = count > 1 && { series: { count, lastObservedTime: counted.lastObservedTime } };
  if (counted.exists && series) {
    try {
      await client.mergePatch(EVENTS, event.metadata, series, { signal });
      counted.writtenCount = count;
      return;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      counted.exists = false;
    }
  }
  try {
    await client.create(EVENTS, { ...event, ...series }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // An earlier attempt was written, but its answer was lost. It may have a lower count.
    counted.exists = true;
    if (series) throw error;
  }
  counted.exists = true;
  counted.writtenCount = count;
}

/** Whether a failed write can succeed later: the server was unreachable or busy. It refused every other write. */
export function mayWriteLater(error: unknown): boolean {
  if (isRefused(error)) return false;
  if (error instanceof TransportError || isAlreadyExists(error)) return true;
  return error instanceof ApiError && (error.status === 429 || error.status >= 500);
}
