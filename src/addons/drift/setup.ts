import { ENVOY_FILES } from '../../injection/envoy/configurations.ts';
import { keysFor } from '../../injection/keys.ts';
import type { NamespaceSettings } from '../../injection/namespace-settings.ts';
import type { TemplateState } from '../../injection/template/template-set.ts';
import { setUpCopies } from '../../injection/webhook/copies.ts';
import type { ManagedConfigMap } from '../../injection/webhook/copy-plan.ts';
import { COPIED_CONFIG_MAPS, LIVE_PODS, PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import { RESTORE_MS, restoreConfigMap } from '../../kube/client/restore-config-map.ts';
import { asWaiting } from '../../kube/manager/managed-controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import type { Logger } from '../../kube/util/log.ts';
import { setUpDriftController } from './drift-controller.ts';
import { POD_INDEXERS, podSummary } from './drift-pods.ts';
import { driftMetrics } from './metrics.ts';

/** The flags of `serve` for drift and repair. */
export interface DriftOptions {
  readonly namespace: string;
  readonly annotation: string;
  readonly requireAnnotation: boolean;
  readonly repair: 'off' | 'report' | 'evict';
  /** In milliseconds. */
  readonly repairWindow: number;
}

export interface DriftSetupOptions extends DriftOptions {
  readonly template: {
    readonly templates: { readonly state: TemplateState };
    onAdopted(listener: () => void): void;
  };
  readonly namespaces: {
    cached(namespace: string): NamespaceSettings;
    onChanged(listener: (namespace: string) => void): void;
  };
}

/** The pod cache, for other components. */
export interface Fleet {
  /** Calls the listener with each pod that is added to the cache, on every replica. */
  onPod(listener: (pod: KubeObject) => void): void;
  /** Live pods, with what `podSummary` keeps of them. */
  readonly pods: Informer<KubeObject>;
  /**
   * Adds a task of the leader that runs before a namespace gets its copy of Envoy's configuration. The first pod of the
   * namespace waits for the copy. A failure is logged.
   */
  beforeCopy(task: (namespace: string, signal: AbortSignal) => Promise<void>): void;
}

/** Name of the ConfigMap with Envoy's configuration, in the operator's namespace and those of the pods. */
const ENVOY = 'envoy';
const WORKERS = 2;
const MANAGED_CONFIG_MAPS: Resource<ManagedConfigMap> = COPIED_CONFIG_MAPS;
const POD_METADATA = { ...PODS, metadataOnly: true as const };

/**
 * Sets up the copies of Envoy's configuration, the search for pods whose sidecar is missing or stale, and repair.
 */
export function setUpDrift(manager: Manager, options: DriftSetupOptions): Fleet {
  const { namespace, requireAnnotation, repair, repairWindow, template, namespaces } = options;
  const { leaderClient: client, events, log } = manager;
  const keys = keysFor(options.annotation);
  const configMaps = manager.informer(MANAGED_CONFIG_MAPS, { fieldSelector: `metadata.name=${ENVOY}` });
  const pods = manager.informer(POD_METADATA, {
    fieldSelector: LIVE_PODS,
    transform: podSummary(keys),
    indexers: POD_INDEXERS,
  });
  const after = (signal: AbortSignal) => waitForSync([configMaps, pods], signal);

  // Where it was deleted, the default would take the place of its copies. They prove nothing: anybody can forge one.
  let data: Readonly<Record<string, string>> = ENVOY_FILES;
  const seen = (each: ManagedConfigMap) => {
    if (each.metadata.namespace === namespace) data = each.data ?? {};
  };
  configMaps.addEventHandler({ onAdd: seen, onUpdate: (_, current) => seen(current) });
  const create = restoreConfigMap({ client, lister: configMaps.lister, log, events }, () => {
    return { metadata: { namespace, name: ENVOY }, data };
  });
  manager.singleton('envoy-config-source', create, { after, everyMs: RESTORE_MS });
  const copyWork = manager.controller('envoy-config', WORKERS);
  const earlier: ((namespace: string, signal: AbortSignal) => Promise<void>)[] = [];
  const copies = setUpCopies({
    client,
    configMaps,
    pods,
    keys,
    queue: copyWork.queue,
    namespace,
    name: ENVOY,
    async beforeCreate(target, signal) {
      for (const task of earlier) {
        await task(target, signal).catch((err: unknown) =>
          log.error({ namespace: target, err }, 'failed before the copy of Envoy’s configuration, going on'),
        );
      }
    },
  });
  copyWork.reconcile(copies.reconcile, {
    keys: copies.namespaces,
    after,
    waiting: (of) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: of, name: ENVOY } }),
  });

  const [driftWork, repairWork] = [manager.controller('drift', WORKERS), manager.controller('repair')];
  const drift = setUpDriftController({
    client,
    pods,
    namespaceSettings: (name) => namespaces.cached(name),
    basis: () => ({
      options: { keys, requireAnnotation, operatorNamespace: namespace },
      state: template.templates.state,
    }),
    queue: driftWork.queue,
    repairQueue: repairWork.queue,
    repair: { evict: repair === 'evict', windowMs: repairWindow, onObstacle: logChanges(log) },
    events,
    now: Date.now,
  });
  template.onAdopted(() => drift.templatesChanged());
  namespaces.onChanged((name) => drift.requeue(name));
  driftMetrics(manager.registry).watch({ findings: drift.findings, stopped: drift.stopped });
  // Both call it, because either may end last.
  const ended = () => drift.forget();
  if (repair !== 'off') driftWork.reconcile(drift.reconcile, { keys: drift.keys, after, ended });
  repairWork.reconcile(drift.repair, {
    keys: () => [],
    after,
    ended,
    waiting: (key) => asWaiting(PODS, pods.lister.get(key)),
  });

  return {
    pods,
    beforeCopy: (task) => void earlier.push(task),
    onPod(listener) {
      pods.addEventHandler({
        onAdd: listener,
        onUpdate(before, pod) {
          // Another pod of the same name: the watch has missed a deletion.
          if (before.metadata.uid !== pod.metadata.uid) listener(pod);
        },
      });
    },
  };
}

/** Returns a function that logs when the reason changes, and ignores repeated calls. */
function logChanges(log: Logger): (why: string | undefined) => void {
  let logged: string | undefined;
  return (why) => {
    if (why !== undefined && why !== logged) log.error({ why }, 'repair stopped, evicting no pods');
    if (why === undefined && logged !== undefined) log.info('repair resumed');
    logged = why;
  };
}
