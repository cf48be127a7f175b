import type { ObjectKey } from '../../kube/api/object.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';

/** The shortest time between two status writes that change only counts, to spare the API server. */
const PACE_MS = 10_000;

/** Limits how often the counts of a Network are written. */
export class StatusThrottle {
  readonly #clock: Pick<Clock, 'now'>;
  /** Oldest first. */
  readonly #writtenAt = new Map<ObjectKey, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Milliseconds until the next write is allowed; 0 for now. */
  waitMs(key: ObjectKey): number {
    const last = this.#writtenAt.get(key);
    return last === undefined ? 0 : Math.max(0, last + PACE_MS - this.#clock.now());
  }

  /** Records a write. */
  written(key: ObjectKey): void {
    this.#writtenAt.delete(key);
    this.#writtenAt.set(key, this.#clock.now());
    for (const old of this.#writtenAt.keys()) {
      if (this.waitMs(old) > 0) return;
      this.#writtenAt.delete(old);
    }
  }
}
