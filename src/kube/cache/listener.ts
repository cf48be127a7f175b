import type { Clock, Timer } from '../workqueue/clock.ts';
import type { NotificationQueue } from './notification-queue.ts';

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
  /** A watch is opened, the first one or another one. */
  onConnect?(): void;
  /** A list, a watch or the reading of one object failed; it is tried again. */
  onError?(error: unknown): void;
}

/** A handler's place at the informer. */
export interface Registration {
  /** The initial list has been handed to this handler, all of it. */
  hasSynced(): boolean;
  /** Nothing more reaches the handler. */
  remove(): void;
}

export interface ListenerOptions<T> {
  /** Shared by all handlers of an informer: they hear of changes in one order. */
  readonly queue: NotificationQueue;
  readonly clock: Clock;
  readonly resyncMs: number | undefined;
  /** What a resync replays. */
  readonly snapshot: () => readonly T[];
  /** What the handler threw. */
  readonly onError: (error: unknown) => void;
  readonly onSynced: () => void;
}

/** client-go: no resync more often than this. */
const MIN_RESYNC_MS = 1_000;

/** One handler at an informer (client-go's processorListener): what it throws reaches no other. */
export class Listener<T> {
  readonly #handler: EventHandler<T>;
  readonly #options: ListenerOptions<T>;
  #stopped = false;
  #synced = false;
  #resyncTimer: Timer | undefined;

  constructor(handler: EventHandler<T>, options: ListenerOptions<T>) {
    this.#handler = handler;
    this.#options = options;
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  /** Begins to resync; what is pushed is handed over when the queue runs. */
  start(): void {
    if (!this.#stopped && !this.#resyncTimer) this.#armResync();
  }

  /** Resyncs no more until it is started again. */
  pause(): void {
    this.#resyncTimer?.cancel();
    this.#resyncTimer = undefined;
  }

  /** Nothing reaches the handler any more, what was waiting neither. */
  stop(): void {
    this.#stopped = true;
    this.pause();
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

  connect(): void {
    this.#push(() => this.#handler.onConnect?.());
  }

  error(error: unknown): void {
    this.#push(() => this.#handler.onError?.(error));
  }

  /** Everything pushed before this belongs to the initial list. */
  markInitialListEnd(): void {
    this.#push(() => {
      this.#synced = true;
      this.#options.onSynced();
    });
  }

  #push(notify: () => unknown): void {
    if (!this.#stopped) this.#options.queue.push(() => this.#handOver(notify));
  }

  #handOver(notify: () => unknown): void {
    if (this.#stopped) return;
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
