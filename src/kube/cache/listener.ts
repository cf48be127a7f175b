import type { Clock, Timer } from '../workqueue/clock.ts';

/**
 * What a controller wants to hear of its objects. All that it is handed is shared: it is read, never changed. The
 * methods are called one at a time, in order; what they throw, or what a promise they return rejects with, is reported.
 */
export interface EventHandler<T> {
  onAdd?(object: T, isInInitialList: boolean): void;
  /** At a resync `previous` and `current` are the same object. */
  onUpdate?(previous: T, current: T): void;
  /** With `finalStateUnknown` the deletion itself was missed, and the object is as it was last seen. */
  onDelete?(object: T, finalStateUnknown: boolean): void;
}

export interface ListenerOptions<T> {
  readonly clock: Clock;
  readonly resyncMs: number | undefined;
  /** What a resync replays. */
  readonly snapshot: () => readonly T[];
  readonly onError: (error: unknown) => void;
  readonly onSynced: () => void;
}

/** client-go: no resync more often than this. */
const MIN_RESYNC_MS = 1_000;
/** Notifications handed over before the event loop gets its turn. */
const SLICE = 500;

/**
 * One handler's queue of notifications (client-go's processorListener): handed over in order, later than the change
 * itself and apart from every other handler's.
 */
export class Listener<T> {
  readonly #handler: EventHandler<T>;
  readonly #options: ListenerOptions<T>;
  /** Handed over up to `#next`. */
  #queue: (() => unknown)[] = [];
  #next = 0;
  #state: 'waiting' | 'started' | 'stopped' = 'waiting';
  #draining = false;
  #synced = false;
  #resyncTimer: Timer | undefined;

  constructor(handler: EventHandler<T>, options: ListenerOptions<T>) {
    this.#handler = handler;
    this.#options = options;
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  start(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'started';
    this.#armResync();
    this.#drainSoon();
  }

  /** Nothing reaches the handler any more, what was waiting neither. */
  stop(): void {
    this.#state = 'stopped';
    this.#resyncTimer?.cancel();
    this.#queue = [];
    this.#next = 0;
  }

  add(object: T, isInInitialList: boolean): void {
    this.#push(() => this.#handler.onAdd?.(object, isInInitialList));
  }

  update(previous: T, current: T): void {
    this.#push(() => this.#handler.onUpdate?.(previous, current));
  }

  delete(object: T, finalStateUnknown: boolean): void {
    this.#push(() => this.#handler.onDelete?.(object, finalStateUnknown));
  }

  /** Everything pushed before this belongs to the initial list. */
  markInitialListEnd(): void {
    this.#push(() => {
      this.#synced = true;
      this.#options.onSynced();
    });
  }

  #push(notify: () => unknown): void {
    if (this.#state === 'stopped') return;
    this.#queue.push(notify);
    this.#drainSoon();
  }

  #drainSoon(): void {
    if (this.#draining || this.#state !== 'started' || this.#queue.length === 0) return;
    this.#draining = true;
    setImmediate(() => this.#drain());
  }

  #drain(): void {
    this.#draining = false;
    for (const notify of this.#queue.slice(this.#next, this.#next + SLICE)) {
      // A notification may have stopped this very listener.
      if (this.#state === 'stopped') return;
      this.#next++;
      this.#handOver(notify);
    }
    // Moving the rest down costs as much as it is long: only when at least as much has gone, so never twice for one.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue.splice(0, this.#next);
      this.#next = 0;
    }
    this.#drainSoon();
  }

  #handOver(notify: () => unknown): void {
    const { onError } = this.#options;
    try {
      const returned = notify();
      // An async handler: TypeScript lets one pass where nothing is to be returned.
      if (returned instanceof Promise) returned.catch(onError);
    } catch (error) {
      onError(error);
    }
  }

  #armResync(): void {
    const { clock, resyncMs, snapshot } = this.#options;
    if (resyncMs === undefined || resyncMs <= 0) return;
    this.#resyncTimer = clock.setTimer(Math.max(resyncMs, MIN_RESYNC_MS), () => {
      for (const object of snapshot()) this.update(object, object);
      this.#armResync();
    });
  }
}
