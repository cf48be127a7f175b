import { LruMap } from '../util/lru-map.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type EventObject, seriesKey } from './event-object.ts';

/** An Event and its repetitions: what was counted here, and how much of that the server knows. */
export interface CountedEvent {
  readonly event: EventObject;
  /** How often it was reported, the first time included. */
  count: number;
  /** MicroTime of the last report. */
  lastObservedTime: string;
  /** The same by the monotonic clock. */
  lastObservedAt: number;
  /** The count that was last written, or given up on. */
  writtenCount: number;
  /** The server has the Event, as far as we know: it forgets it an hour after the last write. */
  exists: boolean;
}

/** No repetition for so long, and the series is over. */
const FINISH_MS = 6 * 60_000;
const MAX_SERIES = 4096;

/** Counts repetitions of Events, so that only some of them are written (client-go tools/events, eventBroadcasterImpl). */
export class EventSeries {
  readonly #clock: Clock;
  readonly #series = new LruMap<string, CountedEvent>(MAX_SERIES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one more where the Event is a repetition, and returns the whole; undefined where it is not. */
  repeat(event: EventObject): CountedEvent | undefined {
    const counted = this.#series.get(seriesKey(event));
    if (!counted) return undefined;
    counted.count++;
    counted.lastObservedTime = event.eventTime;
    counted.lastObservedAt = this.#clock.now();
    return counted;
  }

  /** Begins with a first Event. Returns what is to be written now: that, and what had to be forgotten for it. */
  begin(event: EventObject): readonly CountedEvent[] {
    const first: CountedEvent = {
      event,
      count: 1,
      lastObservedTime: event.eventTime,
      lastObservedAt: this.#clock.now(),
      writtenCount: 0,
      exists: false,
    };
    const evicted = this.#series.set(seriesKey(event), first);
    return evicted ? [first, evicted] : [first];
  }

  all(): readonly CountedEvent[] {
    return [...this.#series.entries()].map(([, counted]) => counted);
  }

  /** Forgets the series that are over, and returns them. */
  finish(): readonly CountedEvent[] {
    const oldest = this.#clock.now() - FINISH_MS;
    const over = [...this.#series.entries()].filter(([, { lastObservedAt }]) => lastObservedAt <= oldest);
    for (const [key] of over) this.#series.delete(key);
    return over.map(([, counted]) => counted);
  }
}

/** Whether there is something in it that was neither written nor given up. */
export function isUnwritten({ count, writtenCount }: CountedEvent): boolean {
  return count > writtenCount;
}
