import type { KubeObject, ObjectKey } from '../api/object.ts';
import { Controller, type ControllerOptions, type Reconcile } from '../controller/controller.ts';
import { tellingRefusals } from '../controller/refusals.ts';
import type { EventRecorder } from '../events/events.ts';
import type { QueueMetrics, WatchedController } from '../prometheus/index.ts';
import type { Task } from '../util/task-group.ts';
import { WorkQueue } from '../workqueue/queue.ts';
import { defaultControllerLimiter } from '../workqueue/rate-limiters.ts';

/** The start and the end of a controller's term. */
export interface TermOptions {
  /** The first keys, since a standby drops all events. */
  readonly keys: () => Iterable<ObjectKey>;
  /** Resolves when the data that a reconcile needs is available. */
  readonly after?: Task;
  /** Called when the last reconcile of a term has ended. */
  readonly ended?: () => void;
  /** The object that gets an Event when the API server refuses a request of the reconcile of a key. */
  readonly waiting?: (key: ObjectKey) => KubeObject | undefined;
}

export interface ManagedControllerOptions extends Omit<ControllerOptions, 'queue' | 'reconcile'> {
  readonly queueMetrics: QueueMetrics;
  readonly events: EventRecorder;
  readonly maxRetryMs?: number | undefined;
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
 * A controller of a manager. It reconciles in each term, with a new queue: that of the leader while this process leads,
 * that of each replica always. In a term, a heartbeat passes through its queue in the same way as events: a controller without heartbeats and without reconciles
 * is stuck.
 */
export class ManagedController {
  readonly #options: ManagedControllerOptions;
  #reconcile: { readonly reconcile: Reconcile; readonly options: TermOptions } | undefined;
  #term: Term | undefined;
  #hasLed = false;
  #reconciledAt: number | undefined;

  constructor(options: ManagedControllerOptions) {
    this.#options = options;
  }

  /** For event handlers. A standby drops the keys: a new leader starts with all objects. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#term?.queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#term?.queue.addAfter(key, delayMs),
  };

  /** Sets the reconcile. A controller without one does nothing. */
  reconcile(reconcile: Reconcile, options: TermOptions): void {
    const { waiting = () => undefined } = options;
    this.#reconcile = { reconcile: tellingRefusals(reconcile, this.#options.events, waiting), options };
  }

  /**
   * Runs one term: reconciles the first keys, then events, until the signal aborts and the running reconciles have
   * ended. Called by the manager.
   * @throws Error if the previous term has not ended.
   */
  readonly run: Task = async (signal) => {
    if (!this.#reconcile) return;
    const { reconcile, options } = this.#reconcile;
    if (options.after) await options.after(signal);
    if (signal.aborted) return;
    if (this.#term) throw new Error(`controller ${this.#options.name}: the previous term has not ended`);
    const { queue, controller } = this.#begin(reconcile);
    const beat = () => {
      heart = this.#options.clock.setTimer(HEARTBEAT_MS, beat);
      this.queue.add(HEARTBEAT);
    };
    let heart = this.#options.clock.setTimer(HEARTBEAT_MS, beat);
    try {
      addAll(queue, options.keys);
      await controller.run(signal);
    } finally {
      heart.cancel();
      this.#term = undefined;
      options.ended?.();
    }
  };

  #begin(reconcile: Reconcile): Term {
    const { clock, queueMetrics, maxRetryMs } = this.#options;
    const limiter = defaultControllerLimiter<ObjectKey>(clock, maxRetryMs);
    const queue = new WorkQueue<ObjectKey>({ clock, limiter, metrics: queueMetrics });
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
    const controller = new Controller({ ...this.#options, queue, reconcile: watched });
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
    return {
      name,
      running: this.#term !== undefined,
      heartbeatAgeMs: age(this.#term?.heardAt),
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
}

/** A function of its own: an async function holds what it has touched until it ends, which is the end of the term. */
function addAll(queue: WorkQueue<ObjectKey>, keys: () => Iterable<ObjectKey>): void {
  for (const key of keys()) queue.add(key);
}
