import { setTimeout as sleep } from 'node:timers/promises';

/** Wakes the waiter. A signal without a waiter is kept for the next one. */
export class Trigger {
  #fired = false;
  #wake: () => void = () => {};

  fire(): void {
    this.#fired = true;
    this.#wake();
  }

  /** Resolves when it fires or has fired since the last call, after the given milliseconds, or on abort. */
  async next(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#fired) {
      const waking = new AbortController();
      this.#wake = () => waking.abort();
      const either = AbortSignal.any([signal, waking.signal]);
      await sleep(milliseconds, undefined, { signal: either, ref: false }).catch(() => {});
    }
    this.#fired = false;
  }
}
