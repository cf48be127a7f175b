import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../workqueue/clock.ts';
import { sleep } from './waits.ts';

/** How long the event loop waits for others at most, and how long they have it then. */
const SLICE_MS = 4;
const PAUSE_MS = 12;

/** Work that goes on in steps, and returns a result at its end. */
export type Steps<T> = Iterator<unknown, T, undefined>;

/**
 * Does long work in slices of the event loop, so that the webhook in this process answers meanwhile. Owners take turns:
 * the work of one does not wait for all of another.
 */
export class Slices {
  readonly #clock: Clock;
  /** Of each owner; a task makes its next step, and returns whether it was the last one. The next owner is the first. */
  readonly #tasks = new Map<string, (() => boolean)[]>();
  #isWorking = false;

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
      const tasks = this.#tasks.get(owner) ?? [];
      tasks.push(step);
      this.#tasks.set(owner, tasks);
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // The loop also visits owners that come meanwhile, and again those that it moves to the end.
    for (const [owner, tasks] of this.#tasks) {
      const end = this.#clock.now() + SLICE_MS;
      let isDone = false;
      while (!isDone && this.#clock.now() < end) isDone = tasks[0]?.() ?? true;
      if (isDone) tasks.shift();
      if (this.#clock.now() >= end) await sleep(this.#clock, PAUSE_MS);
      else await turn();
      this.#tasks.delete(owner);
      if (tasks.length > 0) this.#tasks.set(owner, tasks);
    }
    this.#isWorking = false;
  }
}
