/** Notifications handed over before the event loop gets its turn. */
const SLICE = 500;

/**
 * The notifications of all handlers of an informer: handed over in order, later than the change itself. Paused, it keeps
 * them.
 */
export class NotificationQueue {
  /** Handed over up to `#next`. */
  #queue: (() => void)[] = [];
  #next = 0;
  #running = false;
  #draining = false;

  start(): void {
    this.#running = true;
    this.#drainSoon();
  }

  /** Hands over nothing more, not even the rest of a slice, until it is started again. */
  pause(): void {
    this.#running = false;
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
      // A notification may have paused this very queue.
      if (!this.#running) return;
      this.#next++;
      notify();
    }
    // Moving the rest down costs as much as it is long: only when at least as much has gone, so never twice for one.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue.splice(0, this.#next);
      this.#next = 0;
    }
    this.#drainSoon();
  }
}
