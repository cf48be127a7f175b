import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { KubeClient } from '../kube/client.ts';
import { Controller } from '../kube/controller.ts';
import type { EventRecorder } from '../kube/events.ts';
import { Informer } from '../kube/informer.ts';
import { type ObjectKey, withoutManagedFields } from '../kube/object.ts';
import { ReconcileHistory } from '../kube/reconcile-history.ts';
import { controllerMetrics, queueMetrics } from '../metrics.ts';
import { setUpNetworkController } from '../network/controller.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS } from '../network/resources.ts';
import type { Clock } from '../workqueue/clock.ts';
import { defaultControllerLimiter } from '../workqueue/rate-limiters.ts';
import { WorkQueue } from '../workqueue/rate-limiting-queue.ts';
import { informerLog } from './informer-log.ts';

export interface NetworkDutyOptions {
  /** For the informers, on every replica: a new leader's caches are warm. */
  readonly client: KubeClient;
  /** For what is written, by the leader alone. */
  readonly leaderClient: KubeClient;
  readonly events: EventRecorder;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly workers: number;
  readonly resyncMs: number;
  readonly defaultProvider: string;
}

/** The Network controller, wired. */
export interface NetworkDuty {
  /** Keeps the caches, on every replica, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** Reconciles until the signal aborts and what runs has ended; for the leader, each time that it leads. */
  reconcile(signal: AbortSignal): Promise<void>;
  /** For /debug/controllers. */
  debug(): unknown;
}

/** Where Multus is not installed its definitions are never listed: Networks are told so, after this long. */
const ATTACHMENTS_WAIT_MS = 5_000;

export function networkDuty(options: NetworkDutyOptions): NetworkDuty {
  const { client, leaderClient, events, registry, clock, log, workers, resyncMs, defaultProvider } = options;
  const name = 'network';
  const queued = queueMetrics(registry, name);
  const measured = controllerMetrics(registry, name);
  const history = new ReconcileHistory({ wallClock: Date.now });
  /** The time for which this process leads; it may lead again later. */
  let term: { readonly queue: WorkQueue<ObjectKey>; readonly controller: Controller } | undefined;
  const networks = new Informer({
    client,
    clock,
    resource: NETWORKS,
    transform: withoutManagedFields,
    onError: informerLog(log, 'networks'),
  });
  const attachments = new Informer({
    client,
    clock,
    resource: NETWORK_ATTACHMENT_DEFINITIONS,
    transform: withoutManagedFields,
    onError: informerLog(log, 'network-attachment-definitions'),
  });
  const { reconcile, keys } = setUpNetworkController({
    client: leaderClient,
    networks,
    attachments,
    // A standby remembers nothing: whoever leads starts with all there is.
    queue: { add: (key) => term?.queue.add(key) },
    events,
    now: () => new Date(),
    resyncMs,
    defaultProvider,
  });

  /** Resolves when there is something to work on; false when told to stop before. */
  async function synced(signal: AbortSignal): Promise<boolean> {
    try {
      await networks.waitForSync(signal);
      const moment = AbortSignal.any([signal, AbortSignal.timeout(ATTACHMENTS_WAIT_MS)]);
      await attachments.waitForSync(moment).catch(() => signal.throwIfAborted());
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  return {
    async watch(signal) {
      await Promise.all([networks.run(signal), attachments.run(signal)]);
    },
    async reconcile(signal) {
      if (!(await synced(signal))) return;
      const queue = new WorkQueue<ObjectKey>({
        clock,
        limiter: defaultControllerLimiter(clock),
        metrics: queued.metrics,
      });
      queued.watch(queue);
      const controller = new Controller({
        name,
        queue,
        reconcile,
        workers,
        history,
        log,
        clock,
        metrics: measured,
      });
      term = { queue, controller };
      try {
        for (const key of keys()) queue.add(key);
        await controller.run(signal);
      } finally {
        term = undefined;
      }
    },
    debug: () => ({ name, running: term?.controller.running() ?? [], unsettled: history.list() }),
  };
}
