import type { Logger } from '../util/log.ts';
import { LruMap } from '../util/lru-map.ts';
import type { Clock } from '../workqueue/clock.ts';

const BURST = 25;
const REFILL_MS = 300_000;
const MAX_OBJECTS = 4096;

/**
 * Limits the Events of one object: 25, and one more every 5 minutes (client-go's EventSourceObjectSpamFilter). Each
 * object's bucket is one number, the moment at which it is full again (the GCRA algorithm).
 */
export class EventBudget {
  readonly #clock: Clock;
  readonly #fullAt = new LruMap<string, number>(MAX_OBJECTS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes one Event from the object's budget; returns false if it is empty. */
  tryTake(object: string): boolean {
    const now = this.#clock.now();
    const fullAt = Math.max(now, this.#fullAt.get(object) ?? now);
    if (fullAt - now > (BURST - 1) * REFILL_MS) return false;
    this.#fullAt.set(object, fullAt + REFILL_MS);
    return true;
  }
}

/** Why an Event was dropped: full queue; budget of the object; refused by the server, or the server was unreachable. */
export type DropReason = 'queue_full' | 'rate_limited' | 'refused' | 'unreachable';

export interface EventMetrics {
  dropped(reason: DropReason): void;
}

const LOG_MS = 60_000;

/** Counts dropped Events, and logs at most once a minute: the same cause drops many. */
export class EventDrops {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #metrics: EventMetrics | undefined;
  #sinceLog = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, log: Logger, metrics: EventMetrics | undefined) {
    this.#clock = clock;
    this.#log = log;
    this.#metrics = metrics;
  }

  add(reason: DropReason, err?: unknown): void {
    this.#metrics?.dropped(reason);
    this.#sinceLog++;
    if (this.#clock.now() - this.#loggedAt < LOG_MS) return;
    this.#log.warn({ dropped: this.#sinceLog, reason, err }, 'dropped Events');
    this.#loggedAt = this.#clock.now();
    this.#sinceLog = 0;
  }
}
