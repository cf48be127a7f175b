import type { Timer } from '../../../src/kube/workqueue/clock.ts';
import { FakeClock } from './fake-clock.ts';
import { until } from './until.ts';

/** A fake clock that tells which timers it holds. */
export class WatchedClock extends FakeClock {
  readonly #waits = new Set<{ readonly delayMs: number }>();

  /** The delays with which the pending timers were set. */
  get waits(): readonly number[] {
    return [...this.#waits].map(({ delayMs }) => delayMs);
  }

  override setTimer(delayMs: number, fire: () => void): Timer {
    const wait = { delayMs };
    this.#waits.add(wait);
    const timer = super.setTimer(delayMs, () => {
      this.#waits.delete(wait);
      fire();
    });
    return {
      cancel: () => {
        this.#waits.delete(wait);
        timer.cancel();
      },
    };
  }

  /** Waits until somebody waits for exactly that long, then lets that time pass. */
  async pass(delayMs: number): Promise<void> {
    await until(() => this.waits.includes(delayMs));
    await this.advanceAsync(delayMs);
  }
}
