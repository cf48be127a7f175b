import type { ObjectKey } from '../../kube/api/object.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';

/** A Network's status is written at most this often for its count of pods alone: the API is no database. */
const PACE_MS = 10_000;

/** When the counts of a Network may be written again. */
export class StatusThrottle {
  readonly #clock: Pick<Clock, 'now'>;
  /** Oldest first. */
  readonly #writtenAt = new Map<ObjectKey, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** In how many milliseconds; 0 for now. */
  waitMs(key: ObjectKey): number {
    const last = this.#writtenAt.get(key);
    return last === undefined ? 0 : Math.max(0, last + PACE_MS - this.#clock.now());
  }

  /** They have been written just now. */
  written(key: ObjectKey): void {
    this.#writtenAt.delete(key);
    this.#writtenAt.set(key, this.#clock.now());
    for (const old of this.#writtenAt.keys()) {
      if (this.waitMs(old) > 0) return;
      this.#writtenAt.delete(old);
    }
  }
}
