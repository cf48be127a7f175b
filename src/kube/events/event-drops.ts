import type { Logger } from '../util/log.ts';

import type { Clock } from '../workqueue/clock.ts';

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
