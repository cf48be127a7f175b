import { Fifo } from '../util/fifo.ts';

/** Notifications that are handed over in one turn of the event loop. */
const SLICE = 500;

/** The notifications for all handlers of an informer: handed over in order, later than the change itself. */
export class NotificationQueue {
  readonly #queue = new Fifo<() => void>();
  #state: 'new' | 'running' | 'stopped' = 'new';
  #isDraining = false;
  #onShort: (() => void) | undefined;

  start(): void {
    if (this.#state === 'new') this.#state = 'running';
    this.#drainSoon();
  }

  /** Hands over nothing from now on, not even the rest of a slice. */
  stop(): void {
    this.#state = 'stopped';
    this.#onShort?.();
  }

  /** Resolves when few notifications wait, or it is stopped: a long list of changes does not wait here as a whole. */
  async untilShort(): Promise<void> {
    if (this.#state !== 'running' || this.#queue.length <= SLICE) return;
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
    if (this.#isDraining || this.#state !== 'running' || this.#queue.length === 0) return;
    this.#isDraining = true;
    setImmediate(() => {
      this.#isDraining = false;
      // A notification may stop this queue.
      for (let left = SLICE; left > 0 && this.#state === 'running'; left--) this.#queue.shift()?.();
      if (this.#queue.length <= SLICE) this.#onShort?.();
      this.#drainSoon();
    });
  }
}
