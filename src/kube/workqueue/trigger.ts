import { setTimeout as sleep } from 'node:timers/promises';

/** Wakes who waits for it, or who comes to wait next: no ring is lost while a reload is under way. */
export class Trigger {
  #rung = false;
  #wake: () => void = () => {};

  /** Wakes who waits. */
  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /** Resolves when the bell rings, or did since the last time, or after so many milliseconds, or on abort. */
  async next(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      const waking = new AbortController();
      this.#wake = () => waking.abort();
      const either = AbortSignal.any([signal, waking.signal]);
      await sleep(milliseconds, undefined, { signal: either, ref: false }).catch(() => {});
    }
    this.#rung = false;
  }
}
