import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../workqueue/clock.ts';

/** How long the event loop waits for others at most, and how long they have it then. */
const SLICE_MS = 4;
const PAUSE_MS = 12;

/** Work that goes on in steps, and returns a result at its end. */
export type Steps<T> = Iterator<unknown, T, undefined>;

interface Task {
  /** Makes the next step; returns whether it was the last one. */
  readonly step: () => boolean;
}

/**
 * Does long work in slices of the event loop, so that the webhook in this process answers meanwhile. Owners take turns:
 * the work of one does not wait for all of another.
 */
export class Slices {
  readonly #clock: Clock;
  readonly #tasks = new Map<string, readonly Task[]>();
  #isWorking = false;
  #last: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to the result of the work. */
  run<T>(owner: string, steps: Steps<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const step = () => {
        try {
          const { done, value } = steps.next();
          if (done) resolve(value);
          return done === true;
        } catch (err) {
          reject(err);
          return true;
        }
      };
      this.#tasks.set(owner, [...(this.#tasks.get(owner) ?? []), { step }]);
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let next = this.#next(); next; next = this.#next()) {
      const [owner, [task, ...others]] = next;
      const end = this.#clock.now() + SLICE_MS;
      let isDone = task === undefined;
      while (task && !isDone && this.#clock.now() < end) isDone = task.step();
      this.#tasks.delete(owner);
      const left = isDone ? others : [...(task ? [task] : []), ...others];
      // The last one in the order now.
      if (left.length > 0) this.#tasks.set(owner, left);
      if (this.#clock.now() >= end) await this.#pause();
      else if (this.#tasks.size > 0) await turn();
    }
    this.#isWorking = false;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimer(PAUSE_MS, resolve);
    });
  }

  #next(): readonly [string, readonly Task[]] | undefined {
    const [first, second] = this.#tasks;
    // Others may have come since the last one went to the end.
    const next = first?.[0] === this.#last ? (second ?? first) : first;
    this.#last = next?.[0];
    return next;
  }
}
