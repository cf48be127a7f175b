import { type Clock, systemClock, type Timer } from '../../../src/kube/workqueue/clock.ts';

/** The system's clock, which counts the timers that have neither fired nor been cancelled. */
export class CountingClock implements Clock {
  readonly #pending = new Set<Timer>();

  get pendingTimers(): number {
    return this.#pending.size;
  }

  now(): number {
    return systemClock.now();
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const inner = systemClock.setTimer(delayMs, () => {
      this.#pending.delete(timer);
      fire();
    });
    const timer = {
      cancel: () => {
        this.#pending.delete(timer);
        inner.cancel();
      },
    };
    this.#pending.add(timer);
    return timer;
  }
}
