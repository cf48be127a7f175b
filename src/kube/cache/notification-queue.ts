import { Fifo } from '../util/fifo.ts';

/** Notifications that are handed over in one turn of the event loop. */
const SLICE = 500;

/**
 * The notifications for all handlers of an informer. It hands them over in order, later than the change itself, and
 * keeps them while it is paused.
 */
export class NotificationQueue {
  readonly #queue = new Fifo<() => void>();
  #running = false;
  #draining = false;
  #onShort: (() => void) | undefined;

  start(): void {
    this.#running = true;
    this.#drainSoon();
  }

  /** Hands over nothing, not even the rest of a slice, until start(). */
  pause(): void {
    this.#running = false;
    this.#short();
  }

  /** Resolves when few notifications wait, or it is paused: a long list of changes does not wait here as a whole. */
  async untilShort(): Promise<void> {
    if (!this.#running || this.#queue.length <= SLICE) return;
    await new Promise<void>((resolve) => {
      this.#onShort = resolve;
    });
  }

  /** `notify` must not throw. */
  push(notify: () => void): void {
    this.#queue.push(notify);
    this.#drainSoon();
  }

  #drainSoon(): void {
    if (this.#draining || !this.#running || this.#queue.length === 0) return;
    this.#draining = true;
    setImmediate(() => this.#drain());
  }

  #drain(): void {
    this.#draining = false;
    // A notification may pause this queue.
    for (let left = SLICE; left > 0 && this.#running; left--) this.#queue.shift()?.();
    if (this.#queue.length <= SLICE) this.#short();
    this.#drainSoon();
  }

  #short(): void {
    this.#onShort?.();
    this.#onShort = undefined;
  }
}
