import { isNamespaceTerminating, retryAfterMs } from '../api/api-error.ts';
import type { KubeObject } from '../api/object.ts';
import type { DropReason, EventMetrics } from '../prometheus/index.ts';
import { interval } from '../util/interval.ts';
import type { Logger } from '../util/log.ts';
import { LruMap } from '../util/lru-map.ts';
import { sleep } from '../util/sleep.ts';
import { withTimeout } from '../util/with-timeout.ts';
import type { Clock } from '../workqueue/clock.ts';
import { TokenBucket } from '../workqueue/token-bucket.ts';
import { type EventSource, eventObject, seriesKey } from './event-object.ts';
import {
  type CountedEvent,
  type EventClient,
  isUnwritten,
  mayWriteLater,
  writeEvent,
} from './event-series.ts';
import type { EventDetails, EventRecorder } from './events.ts';

export interface QueuedEventRecorderOptions {
  readonly client: EventClient;
  readonly clock: Clock;
  readonly wallClock: () => Date;
  /** Uniform in [0, 1). */
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
/** A series ends after this time without a repetition. */
const FINISH_MS = 6 * 60_000;
const MAX_SERIES = 4096;
const FLUSH_MS = 2_000;
const LOG_MS = 60_000;
/** Of one object: 25, and one more every 5 minutes (client-go's EventSourceObjectSpamFilter). */
const BUDGET = { burst: 25, ratePerSecond: 1 / 300 };
const MAX_OBJECTS = 4096;

/**
 * Records Events one after the other from a queue, so that reporters never wait. The first Event is created, and the
 * second one makes it a series. Later ones are counted, and written every half hour and when the series ends
 * (client-go's tools/events). So a failure that repeats for days costs the API two writes an hour.
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
      const last = { lastObservedTime: event.eventTime, lastObservedAt: clock.now() };
      const counted = this.#series.get(key);
      if (counted) {
        // A repetition costs almost nothing: the budget limits only new Events.
        Object.assign(counted, last);
        counted.count++;
        if (counted.count === 2) this.#enqueue([counted]);
      } else if (this.#queue.size >= MAX_QUEUED) this.#drop('queue_full');
      else if (!this.#budgetOf(JSON.stringify(event.regarding)).tryTake()) this.#drop('rate_limited');
      else {
        const first = { event, count: 1, ...last, writtenCount: 0, exists: false };
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
    const { clock } = this.#options;
    const timers = [
      interval(clock, FINISH_MS, () => this.#finish()),
      interval(clock, REFRESH_MS, () => this.#enqueue(this.#all())),
    ];
    const onAbort = () => this.#wake();
    signal.addEventListener('abort', onAbort);
    while (!signal.aborted) {
      const next = this.#next();
      if (next) await this.#write(next, signal);
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    signal.removeEventListener('abort', onAbort);
    for (const timer of timers) timer.cancel();
    await this.#flush();
  }

  #all(): readonly CountedEvent[] {
    return Array.from(this.#series.entries(), ([, counted]) => counted);
  }

  /** Removes the series that have ended, and writes their last counts. */
  #finish(): void {
    const oldest = this.#options.clock.now() - FINISH_MS;
    for (const [key, counted] of [...this.#series.entries()]) {
      if (counted.lastObservedAt > oldest) continue;
      this.#series.delete(key);
      this.#enqueue([counted]);
    }
  }

  #budgetOf(object: string): TokenBucket {
    const { clock } = this.#options;
    const budget = this.#budgets.get(object) ?? new TokenBucket({ clock, ...BUDGET });
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
    const { client, clock, random = Math.random } = this.#options;
    for (let tries = 1; ; tries++) {
      let askedMs: number;
      try {
        await writeEvent(client, counted, signal);
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

  async #flush(): Promise<void> {
    const { client, clock, log } = this.#options;
    this.#enqueue(this.#all());
    let left = [...this.#queue].filter(isUnwritten).length;
    const written = () => left--;
    const write = async (bounded: AbortSignal) => {
      while (!bounded.aborted) {
        const next = this.#next();
        if (!next) return;
        await writeEvent(client, next, bounded).then(written, () => undefined);
      }
    };
    // Events that were not written in time are counted below.
    await withTimeout(clock, FLUSH_MS, undefined, write).catch(() => undefined);
    if (left > 0) log.warn({ events: left }, 'dropped unwritten Events at shutdown');
  }

  #giveUp(counted: CountedEvent, error: unknown): void {
    // Later repetitions are written again.
    counted.writtenCount = counted.count;
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
