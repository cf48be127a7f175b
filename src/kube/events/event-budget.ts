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
