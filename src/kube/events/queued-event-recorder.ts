import {
  ApiError,
  isAlreadyExists,
  isNamespaceTerminating,
  isNotFound,
  isRefused,
  retryAfterMs,
  TransportError,
} from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { DropReason, EventMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { LruMap } from '../util/lru-map.ts';
import { sleep, withTimeout } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type TokenBucket, tokenBucket } from '../workqueue/rate-limiters.ts';
import {
  EVENTS,
  type EventDetails,
  type EventObject,
  type EventRecorder,
  type EventSource,
  eventObject,
  seriesKey,
} from './events.ts';

export interface QueuedEventRecorderOptions {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  readonly random?: () => number;
  readonly source: EventSource;
  readonly log: Logger;
  readonly metrics?: EventMetrics;
}

// client-go's numbers (tools/events/event_broadcaster.go).
const MAX_QUEUED = 1000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;
const REFRESH_MS = 30 * 60_000;
const MAX_SERIES = 4096;
const FLUSH_MS = 2_000;
const LOG_MS = 60_000;
/** Of one object: 25, and one more every 5 minutes (client-go's EventSourceObjectSpamFilter). */
const BUDGET = { burst: 25, ratePerSecond: 1 / 300 };
const MAX_OBJECTS = 4096;

/** An Event and its repetitions: the count here, and the part of it that the server has. */
interface CountedEvent {
  readonly event: EventObject;
  /** How often it was reported, including the first time. */
  count: number;
  lastObservedTime: string;
  /** The time of the last write, on the monotonic clock. */
  writtenAt: number;
  /** The count that was last written or dropped. */
  writtenCount: number;
  /** Whether the server is believed to have the Event: it deletes it an hour after the last write. */
  exists: boolean;
}

/**
 * Records Events one after the other from a queue, so that reporters never wait. The first Event is created, and the
 * second one makes it a series (events.k8s.io). Later ones are counted, and written at the 4th, the 8th, the 16th… or
 * after half an hour, and at the end. So a failure that repeats for days costs the API two writes an hour.
 */
export class QueuedEventRecorder implements EventRecorder {
  readonly #options: QueuedEventRecorderOptions;
  readonly #series = new LruMap<string, CountedEvent>(MAX_SERIES);
  /** The Events that each object may still have. */
  readonly #budgets = new LruMap<string, TokenBucket>(MAX_OBJECTS);
  /** Each Event is written with its count at that time, so it is in the queue only once. */
  readonly #queue = new Set<CountedEvent>();
  #wake: () => void = () => {};
  #droppedSinceLog = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: QueuedEventRecorderOptions) {
    this.#options = options;
  }

  event(regarding: KubeObject, details: EventDetails): void {
    const { source, clock, wallClock, log } = this.#options;
    try {
      const event = eventObject(regarding, details, source, wallClock());
      const key = seriesKey(event, details);
      const now = clock.now();
      const counted = this.#series.get(key);
      if (counted) {
        // A repetition costs almost nothing: the budget limits only new Events.
        counted.count++;
        counted.lastObservedTime = event.eventTime;
        const isPowerOfTwo = (counted.count & (counted.count - 1)) === 0;
        if (isPowerOfTwo || now - counted.writtenAt >= REFRESH_MS) this.#enqueue([counted]);
      } else if (this.#queue.size >= MAX_QUEUED) this.#drop('queue_full');
      else if (!this.#budgetOf(JSON.stringify(event.regarding)).tryTake()) this.#drop('rate_limited');
      else {
        const lastObservedTime = event.eventTime;
        const first = { event, count: 1, lastObservedTime, writtenAt: now, writtenCount: 0, exists: false };
        // What is evicted for it has a last count to write.
        const evicted = this.#series.set(key, first);
        this.#enqueue(evicted ? [first, evicted] : [first]);
      }
    } catch (err) {
      log.error({ err, reason: details.reason }, 'cannot create an Event');
    }
  }

  /** Writes until the signal aborts, and then flushes the queue for at most 2 s. Never rejects; runs once. */
  async run(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort);
    while (!signal.aborted) {
      const next = this.#next();
      if (next) await this.#write(next, signal);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    signal.removeEventListener('abort', onAbort);
    await this.#flush();
  }

  #budgetOf(object: string): TokenBucket {
    const budget = this.#budgets.get(object) ?? tokenBucket(this.#options.clock, BUDGET);
    this.#budgets.set(object, budget);
    return budget;
  }

  #enqueue(events: readonly CountedEvent[]): void {
    for (const counted of events) if (isUnwritten(counted)) this.#queue.add(counted);
    this.#wake();
  }

  /** The oldest unwritten Event; skips those that were written since they were queued. */
  #next(): CountedEvent | undefined {
    for (const counted of this.#queue) {
      this.#queue.delete(counted);
      if (isUnwritten(counted)) return counted;
    }
    return undefined;
  }

  async #write(counted: CountedEvent, signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    for (let tries = 1; ; tries++) {
      let askedMs: number;
      try {
        await this.#writeOnce(counted, signal);
        return;
      } catch (error) {
        if (signal.aborted) {
          // The flush writes it with the others.
          this.#queue.add(counted);
          return;
        }
        if (!mayWriteLater(error) || tries === MAX_TRIES) {
          this.#giveUp(counted, error);
          return;
        }
        askedMs = retryAfterMs(error);
      }
      // Rejects only when the signal aborts, which the next attempt checks.
      const delay = Math.max(RETRY_MS * (1 + RETRY_JITTER * random()), askedMs);
      await sleep(clock, delay, signal).catch(() => undefined);
    }
  }

  /**
   * Creates the Event or patches its series, and creates the Event again if the server has deleted it. Safe to repeat
   * after any failure. (client-go tools/events, recordEvent)
   */
  async #writeOnce(counted: CountedEvent, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const { event, count } = counted;
    const written = () =>
      Object.assign(counted, { exists: true, writtenCount: count, writtenAt: clock.now() });
    // The Event itself is immutable.
    const series = count > 1 && { series: { count, lastObservedTime: counted.lastObservedTime } };
    try {
      if (counted.exists && series) {
        await client.mergePatch(EVENTS, event.metadata, series, { signal });
        written();
        return;
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
      counted.exists = false;
    }
    try {
      await client.create(EVENTS, { ...event, ...series }, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // An earlier attempt was written, but its answer was lost. It may have a lower count.
      counted.exists = true;
      if (series) throw error;
    }
    written();
  }

  async #flush(): Promise<void> {
    const { clock, log } = this.#options;
    this.#enqueue(Array.from(this.#series.entries(), ([, counted]) => counted));
    let left = [...this.#queue].filter(isUnwritten).length;
    const written = () => left--;
    const write = async (bounded: AbortSignal) => {
      while (!bounded.aborted) {
        const next = this.#next();
        if (!next) return;
        await this.#writeOnce(next, bounded).then(written, () => undefined);
      }
    };
    // Events that were not written in time are counted below.
    await withTimeout(clock, FLUSH_MS, undefined, write).catch(() => undefined);
    if (left > 0) log.warn({ events: left }, 'dropped unwritten Events at shutdown');
  }

  #giveUp(counted: CountedEvent, error: unknown): void {
    // Later repetitions are written again.
    Object.assign(counted, { writtenCount: counted.count, writtenAt: this.#options.clock.now() });
    if (isNamespaceTerminating(error)) return;
    this.#drop(mayWriteLater(error) ? 'unreachable' : 'refused', error);
  }

  /** Counts a dropped Event, and logs at most once a minute: the same cause drops many. */
  #drop(reason: DropReason, err?: unknown): void {
    const { clock, log, metrics } = this.#options;
    metrics?.dropped(reason);
    this.#droppedSinceLog++;
    if (clock.now() - this.#loggedAt < LOG_MS) return;
    log.warn({ dropped: this.#droppedSinceLog, reason, err }, 'dropped Events');
    this.#loggedAt = clock.now();
    this.#droppedSinceLog = 0;
  }
}

/** Whether a part of the count was neither written nor dropped. */
function isUnwritten({ count, writtenCount }: CountedEvent): boolean {
  return count > writtenCount;
}

/** Whether a failed write can succeed later: the server was unreachable or failed. Others do not wait for a 429, as in client-go. */
function mayWriteLater(error: unknown): boolean {
  if (isRefused(error)) return false;
  if (error instanceof TransportError || isAlreadyExists(error)) return true;
  return error instanceof ApiError && error.status >= 500;
}
