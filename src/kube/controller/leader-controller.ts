import type { Registry } from 'prom-client';
import type { ObjectKey } from '../api/object.ts';
import { controllerMetrics } from '../prometheus/controller.ts';
import { type MeasuredQueue, queueMetrics } from '../prometheus/queue.ts';
import type { Logger } from '../util/log.ts';
import type { Clock } from '../workqueue/clock.ts';
import { defaultControllerLimiter } from '../workqueue/rate-limiters.ts';
import { WorkQueue } from '../workqueue/rate-limiting-queue.ts';
import { Controller, type Reconcile } from './controller.ts';
import type { ControllerMetrics } from './controller-metrics.ts';
import { ReconcileHistory } from './reconcile-history.ts';
import { ReconcileWatchdog } from './reconcile-watchdog.ts';

interface LedControllerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly queueMetrics: MeasuredQueue;
  readonly controllerMetrics: ControllerMetrics;
  readonly watchdog: ReconcileWatchdog;
}

/** The state of one term: the next term does not use it. */
interface Term {
  readonly queue: WorkQueue<ObjectKey>;
  readonly controller: Controller;
}

/** A controller that runs only while this process leads, with a new queue for each term. */
export class LeaderController {
  readonly #options: LedControllerOptions;
  #term: Term | undefined;

  constructor(options: LedControllerOptions) {
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
  async run(reconcile: Reconcile, keys: () => Iterable<ObjectKey>, signal: AbortSignal): Promise<void> {
    if (this.#term) throw new Error(`controller ${this.#options.name}: the previous term has not ended`);
    const { name, watchdog } = this.#options;
    const watched = watchdog.watch(name, this.queue, reconcile);
    const { queue, controller } = this.#begin(watched.reconcile);
    try {
      addAll(queue, keys);
      await controller.run(signal);
    } finally {
      watched.end();
      this.#term = undefined;
    }
  }

  #begin(reconcile: Reconcile): Term {
    const { queueMetrics, controllerMetrics: metrics, ...options } = this.#options;
    const { clock } = options;
    const limiter = defaultControllerLimiter<ObjectKey>(clock);
    const queue = new WorkQueue<ObjectKey>({ clock, limiter, metrics: queueMetrics.metrics });
    queueMetrics.watch(queue);
    const history = new ReconcileHistory({ wallClock: Date.now });
    this.#term = { queue, controller: new Controller({ ...options, queue, reconcile, history, metrics }) };
    return this.#term;
  }

  /** For /debug/controllers. */
  debug(): unknown {
    return {
      name: this.#options.name,
      running: this.#term?.controller.running() ?? [],
      unsettled: this.#term?.controller.history() ?? [],
    };
  }
}

/** A function of its own: an async function holds what it has touched until it ends, which is the end of the term. */
function addAll(queue: WorkQueue<ObjectKey>, keys: () => Iterable<ObjectKey>): void {
  for (const key of keys()) queue.add(key);
}

/** Creates a controller of this process by its name and its number of workers. */
export type MakeController = (name: string, workers: number) => LeaderController;

export function controllerMaker(options: {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watchdog?: ReconcileWatchdog;
}): MakeController {
  const { registry, watchdog = new ReconcileWatchdog(options.clock), ...common } = options;
  const [queueMetricsOf, controllerMetricsOf] = [queueMetrics(registry), controllerMetrics(registry)];
  return (name, workers) =>
    new LeaderController({
      ...common,
      watchdog,
      name,
      workers,
      queueMetrics: queueMetricsOf(name),
      controllerMetrics: controllerMetricsOf(name),
    });
}
