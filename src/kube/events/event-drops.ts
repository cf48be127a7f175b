import type { Logger } from '../util/log.ts';

import type { Clock } from '../workqueue/clock.ts';

/** Why an Event was not recorded: too many wait; too many about one object; the server refused it, or was away too long. */
export type DropReason = 'queue_full' | 'rate_limited' | 'refused' | 'unreachable';

export interface EventMetrics {
  dropped(reason: DropReason): void;
}

const LOG_MS = 60_000;

/** Counts the Events that are dropped, and says so at most once a minute: what drops one drops many. */
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
    this.#log.warn({ dropped: this.#sinceLog, reason, err }, 'events were dropped');
    this.#loggedAt = this.#clock.now();
    this.#sinceLog = 0;
  }
}
