import { HttpError } from './http-error.ts';

const MIB = 2 ** 20;
/** Bodies up to this size have a separate pool, so that large ones cannot block them. */
const SMALL_BYTES = MIB / 4;
const POOL_BYTES = { small: 8 * MIB, large: 16 * MIB };
/** Parsed JSON takes up to 22 times its text, and the heap of a container of 512 MiB is 280 MiB. */
const WORK_BYTES = 8 * MIB;
/** An API server sends a body within milliseconds. A body that takes longer than this gives way to a new one. */
const GRACE_MS = 1000;

/** A body that arrives. `giveWay` is called when other bodies need its room, which it has lost by then. */
export interface Arrival {
  readonly since: number;
  readonly giveWay: () => void;
}

/** Bodies that are arriving, the oldest first, and the bytes that they may hold together. */
class Pool {
  readonly #capacity: number;
  readonly #held = new Map<Arrival, number>();
  #bytes = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Gives the body `bytes` in total; slow bodies give way. Returns false if there is no room. */
  hold(body: Arrival, bytes: number, now: number): boolean {
    this.release(body);
    for (const other of this.#held.keys()) {
      if (this.#bytes + bytes <= this.#capacity) break;
      if (now - other.since < GRACE_MS) continue;
      this.release(other);
      other.giveWay();
    }
    if (this.#bytes + bytes > this.#capacity) return false;
    this.#held.set(body, bytes);
    this.#bytes += bytes;
    return true;
  }

  release(body: Arrival): void {
    this.#bytes -= this.#held.get(body) ?? 0;
    this.#held.delete(body);
  }
}

/** Limits the memory that the bodies of all calls hold together, however many callers there are. */
export class BodyBudget {
  readonly #small = new Pool(POOL_BYTES.small);
  readonly #large = new Pool(POOL_BYTES.large);
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  #atWork = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A body begins to arrive, and holds nothing yet. */
  arrive(giveWay: () => void): Arrival {
    return { since: this.#now(), giveWay };
  }

  /** Reserves room for `bytes` in total; returns false if there is none. */
  hold(body: Arrival, bytes: number): boolean {
    const [pool, other] = bytes <= SMALL_BYTES ? [this.#small, this.#large] : [this.#large, this.#small];
    other.release(body);
    return pool.hold(body, bytes, this.#now());
  }

  /** The body is complete, or was refused. */
  release(body: Arrival): void {
    this.#small.release(body);
    this.#large.release(body);
  }

  /** Works on a complete body. Rejects with HttpError 503 if too many bytes are in work. */
  async work<T>(bytes: number, task: () => Promise<T>): Promise<T> {
    if (this.#atWork + bytes > WORK_BYTES) throw noRoom();
    this.#atWork += bytes;
    try {
      return await task();
    } finally {
      this.#atWork -= bytes;
    }
  }
}

/** The caller may retry; its failurePolicy applies to this call. */
export function noRoom(): HttpError {
  return new HttpError(503, 'too many requests at once: try again', 'no_room');
}
