import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type { Clock, Timer } from '../../../src/kube/workqueue/clock.ts';

interface FakeTimer {
  readonly deadline: number;
  readonly fire: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<FakeTimer>();

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const timer = { deadline: this.#now + delayMs, fire };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** Moves time on and fires what comes due, each at its own moment; also timers that are set meanwhile. */
  advance(ms: number): void {
    for (const timer of this.#due(this.#now + ms)) timer.fire();
  }

  /** As advance(), and lets everything that waits for promises go on: before, after each timer, and at the end. */
  async advanceAsync(ms: number): Promise<void> {
    await eventLoopTurn();
    for (const timer of this.#due(this.#now + ms)) {
      timer.fire();
      await eventLoopTurn();
    }
  }

  *#due(end: number): Generator<FakeTimer> {
    for (let timer = this.#first(); timer && timer.deadline <= end; timer = this.#first()) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.deadline);
      yield timer;
    }
    this.#now = Math.max(this.#now, end);
  }

  #first(): FakeTimer | undefined {
    let first: FakeTimer | undefined;
    for (const timer of this.#timers) if (!first || timer.deadline < first.deadline) first = timer;
    return first;
  }
}
