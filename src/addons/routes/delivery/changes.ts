import { sleep } from '../../../kube/util/sleep.ts';
import type { Clock } from '../../../kube/workqueue/clock.ts';

const QUIET_MS = 50;
const LONGEST_MS = 1000;

/** Gathers changes: they are handled when there were none for 50 ms, and after 1 s at the latest. */
export class Changes {
  readonly #clock: Clock;
  #isMarked = false;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mark(): void {
    this.#isMarked = true;
    this.#wake();
  }

  /** Calls `handle` after each group of changes, until the signal aborts. */
  async run(handle: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      await this.#marked(signal);
      const end = this.#clock.now() + LONGEST_MS;
      while (this.#isMarked && this.#clock.now() < end && !signal.aborted) {
        this.#isMarked = false;
        await sleep(this.#clock, QUIET_MS, signal).catch(() => undefined);
      }
      if (signal.aborted) return;
      this.#isMarked = false;
      await handle();
    }
  }

  async #marked(signal: AbortSignal): Promise<void> {
    if (this.#isMarked || signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}
