import type { Clock, Timer } from '../workqueue/clock.ts';
import type { NotificationQueue } from './notification-queue.ts';

/**
 * Gets the changes of objects. The objects are shared: read them, never change them. The methods are called one at a
 * time, in order. An error that a method throws, or its promise rejects with, is reported.
 */
export interface EventHandler<T> {
  onAdd?(object: T, isInInitialList: boolean): void;
  /** In a resync, `previous` and `current` are the same object. */
  onUpdate?(previous: T, current: T): void;
  /** With `finalStateUnknown` the deletion was missed, and the object is its last seen state. */
  onDelete?(object: T, finalStateUnknown: boolean): void;
  /** A watch is about to open, the first one or a later one. */
  onConnect?(): void;
  /** A list, a watch or the decoding of one object failed; the informer retries. */
  onError?(error: unknown): void;
}

/** The registration of a handler at an informer. */
export interface Registration {
  /** Whether the handler got the whole initial list. */
  hasSynced(): boolean;
  /** Removes the handler: it is not called again. */
  remove(): void;
}

export interface ListenerOptions<T> {
  /** Shared by all handlers of an informer, so that they get changes in one order. */
  readonly queue: NotificationQueue;
  readonly clock: Clock;
  readonly resyncMs: number | undefined;
  /** The objects that a resync replays. */
  readonly snapshot: () => readonly T[];
  /** Called with an error that the handler threw. */
  readonly onError: (error: unknown) => void;
  readonly onSynced: () => void;
}

/** The shortest period of a resync, as in client-go. */
const MIN_RESYNC_MS = 1_000;

/** One handler of an informer (client-go's processorListener). Its errors do not reach other handlers. */
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

  /** Starts to resync. Notifications are handed over while the queue runs. */
  start(): void {
    if (!this.#stopped && !this.#resyncTimer) this.#armResync();
  }

  /** Stops resyncs until start(). */
  pause(): void {
    this.#resyncTimer?.cancel();
    this.#resyncTimer = undefined;
  }

  /** Drops all further notifications, also waiting ones. */
  stop(): void {
    this.#stopped = true;
    this.pause();
  }

  /** Calls a method of the handler, later. */
  notify(call: (handler: EventHandler<T>) => unknown): void {
    this.#push(() => call(this.#handler));
  }

  /** Marks all notifications before this one as the initial list. */
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
      // An async handler: TypeScript allows one where the return type is void.
      if (returned instanceof Promise) returned.catch(onError);
    } catch (error) {
      onError(error);
    }
  }

  #armResync(): void {
    const { clock, resyncMs, snapshot } = this.#options;
    if (resyncMs === undefined || resyncMs <= 0) return;
    this.#resyncTimer = clock.setTimer(Math.max(resyncMs, MIN_RESYNC_MS), () => {
      for (const object of snapshot()) this.notify((each) => each.onUpdate?.(object, object));
      this.#armResync();
    });
  }
}
