import { LruMap } from '../util/lru-map.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { EventObject } from './event-object.ts';

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

/** A series ends after this time without a repetition. */
const FINISH_MS = 6 * 60_000;
const MAX_SERIES = 4096;

/**
 * Counts repetitions of Events, so that only some of them are written (client-go tools/events, eventBroadcasterImpl).
 */
export class EventSeries {
  readonly #clock: Clock;
  readonly #series = new LruMap<string, CountedEvent>(MAX_SERIES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** If the Event is a repetition of the series with this key, counts it and returns the series; otherwise undefined. */
  repeat(key: string, event: EventObject): CountedEvent | undefined {
    const counted = this.#series.get(key);
    if (!counted) return undefined;
    counted.count++;
    counted.lastObservedTime = event.eventTime;
    counted.lastObservedAt = this.#clock.now();
    return counted;
  }

  /** Starts a series. Returns the Events to write now: this one, and those of a series that was evicted for it. */
  begin(key: string, event: EventObject): readonly CountedEvent[] {
    const first: CountedEvent = {
      event,
      count: 1,
      lastObservedTime: event.eventTime,
      lastObservedAt: this.#clock.now(),
      writtenCount: 0,
      exists: false,
    };
    const evicted = this.#series.set(key, first);
    return evicted ? [first, evicted] : [first];
  }

  all(): readonly CountedEvent[] {
    return [...this.#series.entries()].map(([, counted]) => counted);
  }

  /** Removes and returns the series that have ended. */
  finish(): readonly CountedEvent[] {
    const oldest = this.#clock.now() - FINISH_MS;
    const over = [...this.#series.entries()].filter(([, { lastObservedAt }]) => lastObservedAt <= oldest);
    for (const [key] of over) this.#series.delete(key);
    return over.map(([, counted]) => counted);
  }
}

/** Whether a part of the count was neither written nor dropped. */
export function isUnwritten({ count, writtenCount }: CountedEvent): boolean {
  return count > writtenCount;
}
