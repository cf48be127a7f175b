import type { KubeObject, ObjectKey } from '../api/object.ts';
import { Controller, type ControllerOptions, type Reconcile } from '../controller/controller.ts';
import { refusalIn, tellRefusal } from '../controller/refusals.ts';
import type { EventRecorder } from '../events/events.ts';
import type { WatchedController } from '../prometheus/index.ts';
import type { Task } from '../util/task-group.ts';
import type { WorkQueue } from '../workqueue/queue.ts';

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

export interface ManagedControllerOptions extends Omit<ControllerOptions, 'reconcile'> {
  readonly events: EventRecorder;
}

interface Work extends TermOptions {
  readonly reconcile: Reconcile;
}

/** The state of one term: the next term does not use it. */
interface Term {
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
  #work: Work | undefined;
  #term: Term | undefined;
  #hasLed = false;
  #reconciledAt: number | undefined;

  constructor(options: ManagedControllerOptions) {
    this.#options = options;
  }

  /** For event handlers. A standby drops the keys: a new leader starts with all objects. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#term?.controller.queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#term?.controller.queue.addAfter(key, delayMs),
  };

  /** Sets the reconcile. A controller without one does nothing. */
  reconcile(reconcile: Reconcile, options: TermOptions): void {
    this.#work = { ...options, reconcile };
  }

  /**
   * Runs one term: reconciles the first keys, then events, until the signal aborts and the running reconciles have
   * ended. Called by the manager.
   * @throws Error if the previous term has not ended.
   */
  readonly run: Task = async (signal) => {
    const { name, clock } = this.#options;
    const work = this.#work;
    if (work?.after) await work.after(signal);
    if (!work || signal.aborted) return;
    if (this.#term) throw new Error(`controller ${name}: the previous term has not ended`);
    const { controller } = this.#begin(work);
    const beat = () => {
      heart = clock.setTimer(HEARTBEAT_MS, beat);
      this.queue.add(HEARTBEAT);
    };
    let heart = clock.setTimer(HEARTBEAT_MS, beat);
    try {
      addAll(controller.queue, work.keys);
      await controller.run(signal);
    } finally {
      heart.cancel();
      this.#term = undefined;
      work.ended?.();
    }
  };

  #begin({ reconcile, waiting }: Work): Term {
    const { clock, events } = this.#options;
    const watched: Reconcile = async (key, signal) => {
      if (key === HEARTBEAT) {
        term.heardAt = clock.now();
        return {};
      }
      try {
        return await reconcile(key, signal);
      } catch (error) {
        const refusal = refusalIn(error);
        const object = refusal && waiting?.(key);
        if (object) tellRefusal(events, object, refusal);
        throw error;
      } finally {
        this.#reconciledAt = clock.now();
      }
    };
    const controller = new Controller({ ...this.#options, reconcile: watched });
    const term = { controller, heardAt: clock.now() };
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
