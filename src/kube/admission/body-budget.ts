import { HttpError } from './http-error.ts';

const MIB = 2 ** 20;
/** Bodies up to this size have a separate pool, so that large ones cannot block them. */
const SMALL_BYTES = MIB / 4;
const POOL_BYTES = { small: 8 * MIB, large: 16 * MIB };
/** Parsed JSON takes up to 22 times its text, and the heap of a container of 512 MiB is 280 MiB. */
const WORK_BYTES = 8 * MIB;
/** An API server sends a body within milliseconds. A body that takes longer than this gives way to a new one. */
const GRACE_MS = 1000;

/** A body that is arriving, and the bytes that it holds. */
export interface Arrival {
  /** Reserves room for `bytes` in total; returns false if there is none. */
  grow(bytes: number): boolean;
  /** The body is complete, or was refused. */
  end(): void;
}

interface Held {
  readonly since: number;
  readonly giveWay: () => void;
  bytes: number;
}

/** Bodies that are arriving, and the bytes that they may hold together. */
class Pool {
  readonly #capacity: number;
  readonly #held = new Set<Held>();
  #bytes = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Gives the body `bytes` in total; slow bodies give way. Returns false if there is no room. */
  hold(body: Held, bytes: number, now: number): boolean {
    this.release(body);
    for (const other of this.#held) {
      if (this.#bytes + bytes <= this.#capacity) break;
      if (now - other.since < GRACE_MS) continue;
      this.release(other);
      other.giveWay();
    }
    if (this.#bytes + bytes > this.#capacity) return false;
    body.bytes = bytes;
    this.#bytes += bytes;
    this.#held.add(body);
    return true;
  }

  release(body: Held): void {
    if (this.#held.delete(body)) this.#bytes -= body.bytes;
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

  /** A body begins to arrive. `giveWay` is called when other bodies need its room: this body has then ended. */
  arrive(giveWay: () => void): Arrival {
    const body: Held = { since: this.#now(), giveWay, bytes: 0 };
    const end = () => {
      this.#small.release(body);
      this.#large.release(body);
    };
    return {
      grow: (bytes) => {
        const [pool, other] = bytes <= SMALL_BYTES ? [this.#small, this.#large] : [this.#large, this.#small];
        other.release(body);
        return pool.hold(body, bytes, this.#now());
      },
      end,
    };
  }

  /** Counts a complete body until `endWork`. @throws HttpError 503 if too many bytes are in work. */
  beginWork(bytes: number): void {
    if (this.#atWork + bytes > WORK_BYTES) throw noRoom();
    this.#atWork += bytes;
  }

  endWork(bytes: number): void {
    this.#atWork -= bytes;
  }
}

/** The caller may retry; its failurePolicy applies to this call. */
export function noRoom(): HttpError {
  return new HttpError(503, 'too many requests at once: try again', { refusal: 'no_room' });
}
