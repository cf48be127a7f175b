import { COPIED_CONFIG_MAPS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import { RESTORE_MS, restoreConfigMap } from '../../kube/client/restore-config-map.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { ENVOY_CONFIG_MAP, ENVOY_FILES } from '../envoy/files.ts';
import { keysFor } from '../keys.ts';
import { type ManagedConfigMap, setUpCopies } from './copies.ts';

/** The copies of Envoy's configuration, for which the first pod of a namespace waits. */
export interface EnvoyConfiguration {
  /** Adds a task of the leader that runs before a namespace gets its copy. A failure is logged. */
  beforeCopy(task: (namespace: string, signal: AbortSignal) => Promise<void>): void;
}

const WORKERS = 2;
const MANAGED_CONFIG_MAPS: Resource<ManagedConfigMap> = COPIED_CONFIG_MAPS;

/** Copies Envoy's configuration to the namespaces with injected pods, and restores its source. */
export function setUpEnvoyConfiguration(
  manager: Manager,
  {
    namespace,
    annotation,
    pods,
  }: { readonly namespace: string; readonly annotation: string; readonly pods: Informer<KubeObject> },
): EnvoyConfiguration {
  const { leaderClient: client, events, log } = manager;
  const configMaps = manager.informer(MANAGED_CONFIG_MAPS, {
    fieldSelector: `metadata.name=${ENVOY_CONFIG_MAP}`,
  });
  const after = (signal: AbortSignal) => waitForSync([configMaps, pods], signal);

  // Where it was deleted, the default would take the place of its copies. They prove nothing: anybody can forge one.
  let data: Readonly<Record<string, string>> = ENVOY_FILES;
  const seen = (each: ManagedConfigMap) => {
    if (each.metadata.namespace === namespace) data = each.data ?? {};
  };
  configMaps.addEventHandler({ onAdd: seen, onUpdate: (_, current) => seen(current) });
  const create = restoreConfigMap({ client, lister: configMaps.lister, log, events }, () => {
    return { metadata: { namespace, name: ENVOY_CONFIG_MAP }, data };
  });
  manager.singleton('envoy-config-source', create, { after, everyMs: RESTORE_MS });
  const work = manager.controller('envoy-config', WORKERS);
  const tasks: ((namespace: string, signal: AbortSignal) => Promise<void>)[] = [];
  const copies = setUpCopies({
    client,
    configMaps,
    pods,
    keys: keysFor(annotation),
    queue: work.queue,
    namespace,
    name: ENVOY_CONFIG_MAP,
    async beforeCreate(target, signal) {
      for (const task of tasks) {
        await task(target, signal).catch((err: unknown) =>
          log.error({ namespace: target, err }, 'pre-copy hook failed, copying Envoy’s configuration anyway'),
        );
      }
    },
  });
  work.reconcile(copies.reconcile, {
    keys: copies.namespaces,
    after,
    waiting: (of) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: of, name: ENVOY_CONFIG_MAP },
    }),
  });
  return { beforeCopy: (task) => void tasks.push(task) };
}
