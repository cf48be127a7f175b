import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Controller, type Reconcile } from '../kube/controller.ts';
import type { ControllerMetrics } from '../kube/controller-metrics.ts';
import type { ObjectKey } from '../kube/object.ts';
import { ReconcileHistory } from '../kube/reconcile-history.ts';
import { controllerMetrics } from '../metrics/controller.ts';
import { type MeasuredQueue, queueMetrics } from '../metrics/queue.ts';
import type { Clock } from '../workqueue/clock.ts';
import { defaultControllerLimiter } from '../workqueue/rate-limiters.ts';
import { WorkQueue } from '../workqueue/rate-limiting-queue.ts';

interface LedControllerOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly queueMetrics: MeasuredQueue;
  readonly controllerMetrics: ControllerMetrics;
}

/** A controller that works in the terms in which this process leads: each has a queue of its own. */
export class LedController {
  readonly #options: LedControllerOptions;
  readonly #history = new ReconcileHistory({ wallClock: Date.now });
  #term: { readonly queue: WorkQueue<ObjectKey>; readonly controller: Controller } | undefined;

  constructor(options: LedControllerOptions) {
    this.#options = options;
  }

  /** For event handlers. A standby remembers nothing: whoever leads starts with all there is. */
  readonly queue = {
    add: (key: ObjectKey): void => this.#term?.queue.add(key),
    addAfter: (key: ObjectKey, delayMs: number): void => this.#term?.queue.addAfter(key, delayMs),
  };

  /** Reconciles, first all these keys, until the signal aborts and what runs has ended. */
  async run(reconcile: Reconcile, keys: Iterable<ObjectKey>, signal: AbortSignal): Promise<void> {
    const { queueMetrics, controllerMetrics, ...options } = this.#options;
    const { clock } = options;
    const limiter = defaultControllerLimiter<ObjectKey>(clock);
    const queue = new WorkQueue<ObjectKey>({ clock, limiter, metrics: queueMetrics.metrics });
    queueMetrics.watch(queue);
    const controller = new Controller({
      ...options,
      queue,
      reconcile,
      history: this.#history,
      metrics: controllerMetrics,
    });
    this.#term = { queue, controller };
    try {
      for (const key of keys) queue.add(key);
      await controller.run(signal);
    } finally {
      this.#term = undefined;
    }
  }

  /** For /debug/controllers. */
  debug(): unknown {
    return {
      name: this.#options.name,
      running: this.#term?.controller.running() ?? [],
      unsettled: this.#history.list(),
    };
  }
}

/** Makes the controllers of this process, each by its name and how many keys it works on at once. */
export type MakeController = (name: string, workers: number) => LedController;

export function controllerMaker(options: {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
}): MakeController {
  const { registry, ...common } = options;
  const [queueMetricsOf, controllerMetricsOf] = [queueMetrics(registry), controllerMetrics(registry)];
  return (name, workers) =>
    new LedController({
      ...common,
      name,
      workers,
      queueMetrics: queueMetricsOf(name),
      controllerMetrics: controllerMetricsOf(name),
    });
}
