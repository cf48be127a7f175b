/** Notifications that are handed over in one turn of the event loop. */
const SLICE = 500;

/**
 * The notifications for all handlers of an informer. It hands them over in order, later than the change itself, and
 * keeps them while it is paused.
 */
export class NotificationQueue {
  /** The notifications before `#next` have been handed over. */
  #queue: (() => void)[] = [];
  #next = 0;
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
    if (!this.#running || this.#queue.length - this.#next <= SLICE) return;
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
    for (const notify of this.#queue.slice(this.#next, this.#next + SLICE)) {
      // The previous notification may have paused this queue.
      if (!this.#running) return;
      this.#next++;
      notify();
    }
    // Moving the rest takes time in proportion to its length. So it moves only when at least as many have gone before.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue.splice(0, this.#next);
      this.#next = 0;
    }
    if (this.#queue.length - this.#next <= SLICE) this.#short();
    this.#drainSoon();
  }

  #short(): void {
    this.#onShort?.();
    this.#onShort = undefined;
  }
}
