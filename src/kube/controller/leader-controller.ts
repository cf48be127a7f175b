import type { ObjectKey } from '../api/object.ts';
import type { MeasuredQueue } from '../prometheus/queue.ts';
import { interval } from '../util/interval.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';
import { defaultControllerLimiter } from '../workqueue/rate-limiters.ts';
import { WorkQueue } from '../workqueue/rate-limiting-queue.ts';
import { Controller, type ControllerMetrics, type Reconcile } from './controller.ts';

export interface LeaderControllerOptions {
  readonly name: string;
  readonly workers: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly queueMetrics: MeasuredQueue;
  readonly metrics: ControllerMetrics;
}

/** What a controller of the leader does. */
export interface WatchedController {
  readonly name: string;
  /** A term of this leader works on its queue. */
  readonly running: boolean;
  /** Milliseconds since its heartbeat last passed the queue, or since its term began; undefined outside of terms. */
  readonly heartbeatAgeMs: number | undefined;
  /** Milliseconds since a reconcile last ended; undefined before the first one. */
  readonly reconcileAgeMs: number | undefined;
}

/** The state of one term: the next term does not use it. */
interface Term {
  readonly queue: WorkQueue<ObjectKey>;
  readonly controller: Controller;
  heardAt: number;
}

/** A key that passes through each queue. It is not an object's key: names do not have such characters. */
const HEARTBEAT: ObjectKey = '<heartbeat>';
const HEARTBEAT_MS = 30_000;
/** Longer than any reconcile takes: a request to the API server times out after 30 s, and fails its reconcile. */
const OVERDUE_MS = 300_000;

/**
 * A controller that runs only while this process leads, with a new queue for each term. In a term, a heartbeat passes
 * through its queue in the same way as events: a controller without heartbeats and without reconciles is stuck.
 */
export class LeaderController {
  readonly #options: LeaderControllerOptions;
  #term: Term | undefined;
  #hasLed = false;
  #reconciledAt: number | undefined;

  constructor(options: LeaderControllerOptions) {
    this.#options = options;
  }

  /** For event handlers. A standby drops the keys: a new leader starts with all objects. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#term?.queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#term?.queue.addAfter(key, delayMs),
  };

  /**
   * Runs one term: reconciles these keys first, then events, until the signal aborts and the running reconciles have
   * ended.
   * @throws Error if the previous term has not ended.
   */
  async lead(reconcile: Reconcile, keys: () => Iterable<ObjectKey>, signal: AbortSignal): Promise<void> {
    if (this.#term) throw new Error(`controller ${this.#options.name}: the previous term has not ended`);
    const { queue, controller } = this.#begin(reconcile);
    const heart = interval(this.#options.clock, HEARTBEAT_MS, () => this.queue.add(HEARTBEAT));
    try {
      addAll(queue, keys);
      await controller.run(signal);
    } finally {
      heart.cancel();
      this.#term = undefined;
    }
  }

  #begin(reconcile: Reconcile): Term {
    const { queueMetrics, ...options } = this.#options;
    const { clock } = options;
    const limiter = defaultControllerLimiter<ObjectKey>(clock);
    const queue = new WorkQueue<ObjectKey>({ clock, limiter, metrics: queueMetrics.metrics });
    queueMetrics.watch(queue);
    const watched: Reconcile = async (key, signal) => {
      if (key === HEARTBEAT) {
        term.heardAt = clock.now();
        return {};
      }
      try {
        return await reconcile(key, signal);
      } finally {
        this.#reconciledAt = clock.now();
      }
    };
    const controller = new Controller({ ...options, queue, reconcile: watched });
    const term: Term = { queue, controller, heardAt: clock.now() };
    this.#term = term;
    this.#hasLed = true;
    return term;
  }

  /** For metrics. Undefined before the first term, so that a controller that is not used here looks idle to nobody. */
  watched(): WatchedController | undefined {
    if (!this.#hasLed) return undefined;
    const { name, clock } = this.#options;
    const age = (at: number | undefined) => (at === undefined ? undefined : clock.now() - at);
    const heartbeatAgeMs = age(this.#term?.heardAt);
    return {
      name,
      running: this.#term !== undefined,
      heartbeatAgeMs,
      reconcileAgeMs: age(this.#reconciledAt),
    };
  }

  /** The problem that a restart would fix; undefined if the controller is not stuck, and outside of terms. */
  problem(): string | undefined {
    const { heartbeatAgeMs = 0, reconcileAgeMs = Number.POSITIVE_INFINITY } = this.watched() ?? {};
    const silentMs = Math.min(heartbeatAgeMs, reconcileAgeMs);
    return silentMs > OVERDUE_MS
      ? `controller ${this.#options.name} is stuck: no reconcile and no heartbeat for ${Math.round(silentMs / 1000)} s`
      : undefined;
  }

  /** For /debug/controllers. */
  debug(): unknown {
    return {
      name: this.#options.name,
      running: this.#term?.controller.running() ?? [],
      unsettled: this.#term?.controller.unsettled() ?? [],
    };
  }
}

/** A function of its own: an async function holds what it has touched until it ends, which is the end of the term. */
function addAll(queue: WorkQueue<ObjectKey>, keys: () => Iterable<ObjectKey>): void {
  for (const key of keys()) queue.add(key);
}
