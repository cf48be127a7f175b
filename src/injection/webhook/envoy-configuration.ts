import { isNamespaceTerminating, isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, COPIED_CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { type Informer, waitForSync } from '../../kube/cache/informer.ts';
import type { Lister } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { RESTORE_MS, restoreConfigMap } from '../../kube/client/restore-config-map.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import type { Manager } from '../../kube/manager/manager.ts';
import { canonicalJson } from '../../util/json.ts';
import { ENVOY_CONFIG_MAP, ENVOY_FILES } from '../envoy/files.ts';
import type { Keys } from '../keys.ts';
import { isMarked } from './pod-cache.ts';

const WORKERS = 2;
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap' };

/**
 * Copies Envoy's configuration from the operator's namespace to each namespace with injected pods, whose sidecars mount
 * it, and restores its source.
 */
export function setUpEnvoyConfiguration(
  manager: Manager,
  namespace: string,
  keys: Keys,
  pods: Informer<KubeObject>,
) {
  const { leaderClient: client, events, log } = manager;
  const configMaps = manager.informer(COPIED_CONFIG_MAPS, {
    fieldSelector: `metadata.name=${ENVOY_CONFIG_MAP}`,
  });
  const controller = manager.controller('envoy-config', WORKERS);
  const { queue } = controller;
  const after = (signal: AbortSignal) => waitForSync([configMaps, pods], signal);
  const namespaces = () =>
    new Set(
      [...pods.lister.list(), ...configMaps.lister.list()].flatMap(
        ({ metadata }) => metadata.namespace ?? [],
      ),
    );

  // Where it was deleted, the default would take the place of its copies. They prove nothing: anybody can forge one.
  let data: Readonly<Record<string, string>> = ENVOY_FILES;
  const onConfigMap = ({ metadata }: ConfigMap) => {
    if (metadata.namespace === namespace) for (const each of namespaces()) queue.add(each);
    else if (metadata.namespace !== undefined) queue.add(metadata.namespace);
  };
  const seen = (each: ConfigMap) => {
    if (each.metadata.namespace === namespace) data = each.data ?? {};
    onConfigMap(each);
  };
  configMaps.addEventHandler({ onAdd: seen, onUpdate: (_, current) => seen(current), onDelete: onConfigMap });
  pods.addEventHandler({
    onAdd: ({ metadata }) => {
      // Most namespaces have many pods and already have the copy.
      if (metadata.namespace && !configMaps.lister.get(`${metadata.namespace}/${ENVOY_CONFIG_MAP}`))
        queue.add(metadata.namespace);
    },
  });
  const create = restoreConfigMap({ client, lister: configMaps.lister, log, events }, () => {
    return { metadata: { namespace, name: ENVOY_CONFIG_MAP }, data };
  });
  manager.singleton('envoy-config-source', create, { after, everyMs: RESTORE_MS });
  let before: CopyingOptions['beforeCreate'] = async () => undefined;
  const reconcile = copying({
    ...{ client, configMaps: configMaps.lister, pods: pods.lister, keys, namespace },
    beforeCreate: (target, signal) =>
      before(target, signal).catch((err: unknown) =>
        log.error({ namespace: target, err }, 'pre-copy hook failed, copying Envoy’s configuration anyway'),
      ),
  });
  controller.reconcile(reconcile, {
    keys: namespaces,
    after,
    waiting: (of) => ({ ...CONFIG_MAP, metadata: { namespace: of, name: ENVOY_CONFIG_MAP } }),
  });
  return {
    /** Sets a task of the leader that runs before a namespace gets its copy, for which its first pod waits. A failure is logged. */
    beforeCopy(task: CopyingOptions['beforeCreate']): void {
      before = task;
    },
  };
}

export interface CopyingOptions {
  readonly client: Pick<KubeClient, 'create' | 'jsonPatch'>;
  /** Envoy's configuration in all namespaces, with managedFields. */
  readonly configMaps: Pick<Lister<ConfigMap>, 'get'>;
  readonly pods: Pick<Lister<KubeObject>, 'list'>;
  readonly keys: Keys;
  /** The namespace of the source. */
  readonly namespace: string;
  /** Runs before a copy is created, for which the first pod of the namespace waits. */
  beforeCreate(namespace: string, signal: AbortSignal): Promise<void>;
}

/**
 * The reconcile of the copy in a namespace, which is the key. It never changes a user's own ConfigMap, even if that started as
 * a copy, keeps copies in sync with their source, and never deletes one: pods that are not in the cache yet may need it.
 */
export function copying({
  client,
  configMaps,
  pods,
  keys,
  namespace,
  beforeCreate,
}: CopyingOptions): Reconcile {
  const name = ENVOY_CONFIG_MAP;
  return async (target, signal) => {
    const [source, found] = [configMaps.get(`${namespace}/${name}`), configMaps.get(`${target}/${name}`)];
    if (source === undefined) return {};
    const { data = {} } = source;
    const isNeeded = () => target !== namespace && pods.list(target).some((pod) => isMarked(pod, keys));
    const options = { fieldManager: COPY_MANAGER, signal };
    try {
      if (found === undefined && isNeeded()) {
        await beforeCreate(target, signal);
        const metadata = { namespace: target, name, labels: { [COPY_LABEL]: namespace } };
        const copy = { ...CONFIG_MAP, metadata, data };
        // POST: apply would merge with a user's own ConfigMap.
        await client.create(CONFIG_MAPS, copy, options);
      } else if (found && isCopy(found) && canonicalJson(data) !== canonicalJson(found.data ?? {})) {
        const { resourceVersion } = found.metadata;
        const operations = [
          { op: 'test' as const, path: '/metadata/resourceVersion', value: resourceVersion },
          { op: 'add' as const, path: '/data', value: data },
        ];
        await client.jsonPatch(CONFIG_MAPS, { namespace: target, name }, operations, options);
      }
    } catch (err) {
      // Another client was faster, or the namespace is being deleted. The watch delivers the new state.
      if (!isOvertaken(err) && !isNotFound(err) && !isNamespaceTerminating(err)) throw err;
    }
    return {};
  };
}

/** The label of every copy. */
export const COPY_LABEL = 'initializer.kubernetes.io/copy-of';
/** The field manager of copies. A copy whose data another manager writes belongs to that manager. */
export const COPY_MANAGER = 'envoy-initializer-copies';

/** Whether the ConfigMap is a copy whose data only the operator has written. */
export function isCopy({ metadata }: KubeObject): boolean {
  if (metadata.labels?.[COPY_LABEL] === undefined || metadata.deletionTimestamp !== undefined) return false;
  return (metadata.managedFields ?? []).every(
    ({ manager, fieldsV1 = {} }) => manager === COPY_MANAGER || !('f:data' in fieldsV1),
  );
}
