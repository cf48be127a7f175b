import type { ObjectKey } from '../../kube/api/object.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { TokenBucket } from '../../kube/workqueue/token-bucket.ts';

/** The shortest time between two status writes of a Network that change only counts. */
const PACE_MS = 10_000;
/** Such writes of all Networks together. Each goes to the watch of each node agent. */
const LIMIT = { ratePerSecond: 5, burst: 100 };
/** A Network that was not written this long after it could be is gone, or has its earlier counts again. */
const DUE_KEPT_MS = 600_000;

/** Limits how often counts of Networks are written, to spare the API server and the node agents. */
export class StatusThrottle {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #bucket: TokenBucket;
  /** Oldest first. */
  readonly #writtenAt = new Map<ObjectKey, number>();
  /** When a Network that waits may be written. Oldest first. */
  readonly #dueAt = new Map<ObjectKey, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#bucket = new TokenBucket({ clock, ...LIMIT });
  }

  /** Milliseconds until the next write is allowed; 0 for now. */
  waitMs(key: ObjectKey): number {
    const now = this.#clock.now();
    const dueAt = this.#dueAt.get(key) ?? Math.max(this.#pacedAt(key), now + this.#bucket.reserve());
    this.#dueAt.set(key, dueAt);
    return Math.max(0, dueAt - now);
  }

  /** Records a write. */
  written(key: ObjectKey): void {
    const now = this.#clock.now();
    this.#dueAt.delete(key);
    this.#writtenAt.delete(key);
    this.#writtenAt.set(key, now);
    forgetUntil(this.#writtenAt, now - PACE_MS);
    forgetUntil(this.#dueAt, now - DUE_KEPT_MS);
  }

  #pacedAt(key: ObjectKey): number {
    return (this.#writtenAt.get(key) ?? Number.NEGATIVE_INFINITY) + PACE_MS;
  }
}

function forgetUntil(times: Map<ObjectKey, number>, end: number): void {
  for (const [key, at] of times) {
    if (at > end) return;
    times.delete(key);
  }
}
