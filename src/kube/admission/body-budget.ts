import { HttpError } from './http-error.ts';

const MIB = 2 ** 20;
/** Bodies up to this size have a pool of their own: large ones cannot keep them out. */
const SMALL_BYTES = MIB / 4;
const POOL_BYTES = { small: 8 * MIB, large: 16 * MIB };
/** Parsed JSON takes up to 22 times its text, and the heap of a container of 512 MiB is 280 MiB. */
const WORK_BYTES = 8 * MIB;
/** An API server sends a body within milliseconds. One that arrives for longer than this gives way to a new one. */
const GRACE_MS = 1000;

/** A body that arrives, and the bytes that it holds. */
export interface Arrival {
  /** Makes room for so many bytes in all. False: there is none. */
  grow(bytes: number): boolean;
  /** The body is whole, or is given up. */
  end(): void;
}

interface Held {
  readonly since: number;
  readonly giveWay: () => void;
  bytes: number;
}

/** Bodies that arrive, and the bytes that they may hold together. */
class Pool {
  readonly #capacity: number;
  readonly #held = new Set<Held>();
  #bytes = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Gives the body so many bytes in all. Bodies that have arrived for too long give way. False: there is no room. */
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

/** What the bodies of calls may hold of the memory together, however many callers there are. */
export class BodyBudget {
  readonly #small = new Pool(POOL_BYTES.small);
  readonly #large = new Pool(POOL_BYTES.large);
  /** Milliseconds, monotonic. */
  readonly #now: () => number;
  #atWork = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A body that begins to arrive. `giveWay` is called when others need its room: then it has ended. */
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

  /** Counts a whole body while it is worked on, until `endWork`. @throws HttpError 503 when too much is worked on. */
  beginWork(bytes: number): void {
    if (this.#atWork + bytes > WORK_BYTES) throw noRoom();
    this.#atWork += bytes;
  }

  endWork(bytes: number): void {
    this.#atWork -= bytes;
  }
}

/** The caller may try again: its failurePolicy decides what becomes of the object until then. */
export function noRoom(): HttpError {
  return new HttpError(503, 'too many bodies arrive at once: try again', { refusal: 'no_room' });
}
