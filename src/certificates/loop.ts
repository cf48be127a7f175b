import type { Informer } from '../kube/cache/informer.ts';
import { Controller, type Result } from '../kube/controller/controller.ts';
import type { Logger } from '../kube/util/log.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { exponentialLimiter } from '../kube/workqueue/rate-limiters.ts';
import { WorkQueue } from '../kube/workqueue/rate-limiting-queue.ts';

export interface LoopOptions {
  readonly name: string;
  readonly reconcile: (signal: AbortSignal) => Promise<Result>;
  readonly clock: Clock;
  /** Milliseconds since 1970, as Date.now(). */
  readonly wallClock: () => number;
  readonly log: Logger;
}

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 60_000;

/** A controller with one key: one reconcile runs at a time, and any number of wakes lead to one more. */
export class Loop {
  readonly #key: string;
  readonly #queue: WorkQueue<string>;
  readonly #controller: Controller;

  constructor({ name, reconcile, clock, wallClock, log }: LoopOptions) {
    const limiter = exponentialLimiter<string>({ baseMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
    this.#key = name;
    this.#queue = new WorkQueue({ clock, limiter });
    this.#controller = new Controller({
      name,
      queue: this.#queue,
      reconcile: (_, signal) => reconcile(signal),
      workers: 1,
      log,
      clock,
      wallClock,
    });
  }

  /** Why the last reconcile failed; undefined if it did not. */
  get problem(): string | undefined {
    return this.#controller.unsettled()[0]?.error;
  }

  /** Requests a reconcile. */
  wake(): void {
    this.#queue.add(this.#key);
  }

  /** Reconciles until the signal aborts. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    this.wake();
    return this.#controller.run(signal);
  }
}

/** Loops that the same changes wake, each for as long as it runs. */
export class Loops {
  readonly #running = new Set<Loop>();

  /** Requests a reconcile of every loop that runs. */
  readonly wake = (): void => {
    for (const loop of this.#running) loop.wake();
  };

  /** Runs the loop until the signal aborts. */
  async run(loop: Loop, signal: AbortSignal): Promise<void> {
    this.#running.add(loop);
    try {
      await loop.run(signal);
    } finally {
      this.#running.delete(loop);
    }
  }

  /** Wakes the loops when an informer has synced, because a missing object has no event. Never rejects. */
  async wakeWhenSynced(
    informers: readonly Pick<Informer<never>, 'waitForSync'>[],
    signal: AbortSignal,
  ): Promise<void> {
    const synced = informers.map((each) => each.waitForSync(signal).then(this.wake, () => undefined));
    await Promise.all(synced);
  }
}
