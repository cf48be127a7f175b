import type { Logger } from 'pino';
import { CONFIG_MAPS, LIVE_PODS, PODS } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import { Informer } from '../kube/cache/informer.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { waitForSync } from '../kube/cache/wait-for-sync.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { createIfMissing } from '../kube/client/create-if-missing.ts';
import type { MakeController } from '../kube/controller/leader-controller.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import { together } from '../kube/util/together.ts';
import type { Clock } from '../kube/workqueue/clock.ts';
import { ENVOY_FILES } from '../sidecar/envoy/configurations.ts';
import { keysFor } from '../sidecar/keys.ts';
import type { TemplateState } from '../sidecar/template/template-set.ts';
import { setUpCopies } from './copies.ts';
import type { ManagedConfigMap } from './copy-plan.ts';
import { setUpDriftController } from './drift-controller.ts';
import { podIndexers, podSummary } from './fleet-pods.ts';
import type { FleetMetrics } from './metrics.ts';

/** The flags of `serve` that the fleet looks at. */
export interface FleetOptions {
  readonly namespace: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly repair: 'off' | 'report' | 'evict';
  /** In milliseconds. */
  readonly repairWindow: number;
}

export interface FleetDutyOptions {
  readonly options: FleetOptions;
  /** For the informers, on every replica. */
  readonly client: KubeClient;
  /** For what is written, by the leader alone. */
  readonly leaderClient: KubeClient;
  readonly template: {
    readonly templates: { readonly state: TemplateState };
    onAdopted(listener: () => void): void;
  };
  readonly namespaces: {
    cached(namespace: string): Readonly<Record<string, string>>;
    onChanged(listener: (namespace: string) => void): void;
  };
  readonly events: EventRecorder;
  readonly metrics: FleetMetrics;
  readonly makeController: MakeController;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The fleet of pods with a sidecar, wired: Envoy's configuration for them, and those whose sidecar is missing or stale. */
export interface FleetDuty {
  /** Keeps the caches, on every replica, until the signal aborts. */
  watch(signal: AbortSignal): Promise<void>;
  /** For the leader, each time that it leads, until the signal aborts. */
  reconcile(signal: AbortSignal): Promise<void>;
  /** Called with each pod that comes to the cache, on every replica. */
  onPod(listener: (pod: KubeObject) => void): void;
  /** For /debug/controllers. */
  debug(): readonly unknown[];
}

/** The ConfigMap with Envoy's configuration, in the operator's namespace and in those of the pods. */
const ENVOY = 'envoy';
const WORKERS = 2;

export function fleetDuty(duty: FleetDutyOptions): FleetDuty {
  const { options, leaderClient: client, template, namespaces, events, metrics, makeController, log } = duty;
  const { namespace } = options;
  const keys = keysFor(options.annotation);
  const { pods, configMaps } = informers(duty);
  const [copyWork, driftWork] = [makeController('envoy-config', WORKERS), makeController('drift', WORKERS)];
  const repairWork = makeController('repair', 1);
  const copies = setUpCopies({ client, configMaps, pods, queue: copyWork.queue, namespace, name: ENVOY });
  const decide = { keys, requireAnnotation: options.requireAnnotation, operatorNamespace: namespace };
  const drift = setUpDriftController({
    client,
    pods,
    namespaceLabels: (name) => namespaces.cached(name),
    basis: () => ({ options: decide, state: template.templates.state }),
    queue: driftWork.queue,
    repairQueue: repairWork.queue,
    repair: {
      evict: options.repair === 'evict',
      windowMs: options.repairWindow,
      onObstacle: tellChanges(log),
    },
    events,
    now: Date.now,
  });
  template.onAdopted(() => drift.requeue());
  namespaces.onChanged((name) => drift.requeue(name));
  metrics.watch({ findings: drift.findings, stopped: drift.stopped });

  const source = { metadata: { namespace, name: ENVOY }, data: ENVOY_FILES };

  return {
    async watch(signal) {
      await Promise.all([configMaps.run(signal), pods.run(signal)]);
    },
    async reconcile(signal) {
      if (!(await waitForSync([configMaps, pods], signal))) return;
      try {
        await together(signal, [
          (running) => createIfMissing({ client, lister: configMaps.lister, log }, source, running),
          (running) => copyWork.run(copies.reconcile, copies.namespaces(), running),
          async (running) => {
            if (options.repair !== 'off') await driftWork.run(drift.reconcile, drift.keys(), running);
          },
          (running) => repairWork.run(drift.repair, [], running),
        ]);
      } finally {
        drift.forget();
      }
    },
    onPod(listener) {
      pods.addEventHandler({
        onAdd: listener,
        onUpdate(before, pod) {
          // Of the same name, and the watch has missed that one was deleted.
          if (before.metadata.uid !== pod.metadata.uid) listener(pod);
        },
      });
    },
    debug: () => [copyWork, driftWork, repairWork].map((work) => work.debug()),
  };
}

function informers({ options, client, clock, log }: FleetDutyOptions) {
  const keys = keysFor(options.annotation);
  return {
    pods: new Informer({
      client,
      clock,
      resource: { ...PODS, metadataOnly: true as const },
      fieldSelector: LIVE_PODS,
      transform: podSummary(keys),
      indexers: podIndexers(keys),
      onError: informerLog(log, 'pods'),
    }),
    configMaps: new Informer<ManagedConfigMap>({
      client,
      clock,
      resource: CONFIG_MAPS,
      fieldSelector: `metadata.name=${ENVOY}`,
      onError: informerLog(log, 'configmaps'),
    }),
  };
}

/** Logs a reason when it comes and when it goes, however often it is told. */
function tellChanges(log: Logger): (why: string | undefined) => void {
  let told: string | undefined;
  return (why) => {
    if (why !== undefined && why !== told) log.error({ why }, 'repair has stopped: no pod is evicted');
    if (why === undefined && told !== undefined) log.info('repair goes on');
    told = why;
  };
}
