import { isNamespaceTerminating, isNotFound, isOvertaken } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import type { Informer } from '../../kube/cache/informer.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Reconcile } from '../../kube/controller/controller.ts';
import { canonicalJson } from '../../util/json.ts';
import type { Keys } from '../keys.ts';
import { isMarked } from './pod-cache.ts';

export interface CopiesOptions {
  readonly client: Pick<KubeClient, 'create' | 'jsonPatch'>;
  /** The ConfigMaps of that name in all namespaces, with managedFields. */
  readonly configMaps: Informer<ManagedConfigMap>;
  readonly pods: Informer<KubeObject>;
  readonly keys: Keys;
  /** Gets the namespaces to reconcile. */
  readonly queue: { add(namespace: string): void };
  /** The namespace of the source. */
  readonly namespace: string;
  readonly name: string;
  /** Runs before a copy is created, for which the first pod of the namespace waits. */
  beforeCreate(namespace: string, signal: AbortSignal): Promise<void>;
}

export interface Copies {
  /** Keys are namespaces. */
  readonly reconcile: Reconcile;
  /** The namespaces that a new leader must reconcile first. */
  namespaces(): ReadonlySet<string>;
}

/**
 * Copies a ConfigMap from the operator's namespace to each namespace with injected pods, whose sidecars mount it.
 * Adds its handlers to the informers and starts nothing.
 */
export function setUpCopies(options: CopiesOptions): Copies {
  const { client, configMaps, pods, queue, namespace, name } = options;
  const source = () => configMaps.lister.get(`${namespace}/${name}`);
  const namespaces = () =>
    new Set(
      [...pods.lister.list(), ...configMaps.lister.list()].flatMap(
        ({ metadata }) => metadata.namespace ?? [],
      ),
    );
  const onConfigMap = ({ metadata }: ConfigMap) => {
    if (metadata.namespace === namespace) for (const each of namespaces()) queue.add(each);
    else if (metadata.namespace !== undefined) queue.add(metadata.namespace);
  };
  configMaps.addEventHandler({
    onAdd: onConfigMap,
    onUpdate: (_, current) => onConfigMap(current),
    onDelete: onConfigMap,
  });
  pods.addEventHandler({
    onAdd: ({ metadata }) => {
      // Most namespaces have many pods and already have the copy.
      if (metadata.namespace && !configMaps.lister.get(`${metadata.namespace}/${name}`))
        queue.add(metadata.namespace);
    },
  });

  async function reconcile(target: string, signal: AbortSignal) {
    const [wanted, found] = [source(), configMaps.lister.get(`${target}/${name}`)];
    const isNeeded =
      target !== namespace && pods.lister.list(target).some((pod) => isMarked(pod, options.keys));
    const step = planCopy({ source: wanted, found, isNeeded });
    if (step === 'nothing' || wanted === undefined) return {};
    try {
      if (step === 'create') {
        await options.beforeCreate(target, signal);
        await create(target, wanted, signal);
      } else if (found) await update(found, wanted, signal);
    } catch (err) {
      // Another client was faster, or the namespace is being deleted. The watch delivers the new state.
      if (!isOvertaken(err) && !isNotFound(err) && !isNamespaceTerminating(err)) throw err;
    }
    return {};
  }

  /** Uses POST: apply would merge with a user's own ConfigMap. */
  async function create(target: string, { data = {} }: ConfigMap, signal: AbortSignal): Promise<void> {
    const metadata = { namespace: target, name, labels: { [COPY_LABEL]: namespace } };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    await client.create(CONFIG_MAPS, object, { fieldManager: COPY_MANAGER, signal });
  }

  async function update(
    { metadata }: ManagedConfigMap,
    { data = {} }: ConfigMap,
    signal: AbortSignal,
  ): Promise<void> {
    const operations = [
      { op: 'test' as const, path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add' as const, path: '/data', value: data },
    ];
    const ref = { namespace: metadata.namespace, name };
    await client.jsonPatch(CONFIG_MAPS, ref, operations, { fieldManager: COPY_MANAGER, signal });
  }

  return { reconcile, namespaces };
}

/** The label of every copy. */
export const COPY_LABEL = 'initializer.kubernetes.io/copy-of';
/** The field manager of copies. A copy whose data another manager writes belongs to that manager. */
export const COPY_MANAGER = 'envoy-initializer-copies';

/** A ConfigMap with the part of `managedFields` that names the writers of its data. */
export interface ManagedConfigMap extends ConfigMap {
  readonly metadata: KubeObject['metadata'] & {
    readonly managedFields?: readonly { readonly manager?: string; readonly fieldsV1?: object }[];
  };
}

/** The state of one namespace. */
interface CopySituation {
  /** The ConfigMap to copy; undefined if it does not exist. */
  readonly source: ConfigMap | undefined;
  /** The ConfigMap of that name in the namespace. */
  readonly found: ManagedConfigMap | undefined;
  /** Whether pods in the namespace mount it. */
  readonly isNeeded: boolean;
}

/**
 * What to do about the copy in one namespace. Never changes a user's own ConfigMap, even if it started as a copy.
 * Keeps copies in sync with their source and never deletes one: pods that are not in the cache yet may need it.
 */
export function planCopy({ source, found, isNeeded }: CopySituation): 'create' | 'update' | 'nothing' {
  if (source === undefined) return 'nothing';
  if (found === undefined) return isNeeded ? 'create' : 'nothing';
  return isCopy(found) && !sameData(source, found) ? 'update' : 'nothing';
}

/** Whether the ConfigMap is a copy whose data only the operator has written. */
export function isCopy({ metadata }: ManagedConfigMap): boolean {
  if (metadata.labels?.[COPY_LABEL] === undefined || metadata.deletionTimestamp !== undefined) return false;
  return (metadata.managedFields ?? []).every(
    ({ manager, fieldsV1 = {} }) => manager === COPY_MANAGER || !('f:data' in fieldsV1),
  );
}

function sameData(a: ConfigMap, b: ConfigMap): boolean {
  return canonicalJson(a.data ?? {}) === canonicalJson(b.data ?? {});
}
