import { ROUTES_FILE } from '../../../injection/envoy/routed.ts';
import { isNamespaceTerminating, isNotFound, isOvertaken, isRefused } from '../../../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../../../kube/api/core-resources.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import { regardingOf } from '../../../kube/api/resource.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Result } from '../../../kube/controller/controller.ts';
import { REQUEST_REFUSED } from '../../../kube/controller/refusals.ts';
import type { EventRecorder } from '../../../kube/events/events.ts';
import { leftOutText } from '../compile/left-out.ts';
import type { RouteFile } from '../compile/route-configuration.ts';
import type { Obstacle } from '../compile/status.ts';
import {
  MAPS_METADATA,
  ONLY_ROUTES_MAPS,
  ROUTES_CONFIG_MAP,
  ROUTES_LABEL,
  ROUTES_MANAGER,
  ROUTES_MAPS,
} from './resources.ts';

export interface RouteFilesOptions {
  readonly client: Pick<KubeClient, 'list' | 'jsonPatch' | 'create'>;
  /** Their metadata: the texts of all namespaces would take too much memory. */
  readonly configMaps: Pick<Lister<KubeObject>, 'get'>;
  /** The operator’s namespace. */
  readonly namespace: string;
  /** The file for clients in a namespace. */
  file(namespace: string): RouteFile | Promise<RouteFile>;
  hasSidecars(namespace: string): boolean;
  readonly events: EventRecorder;
  /** Called when the file is in place; `isNew` if this call has written it. */
  delivered(namespace: string, file: RouteFile, isNew: boolean): void;
  refused(namespace: string): void;
  /** Called when a namespace has neither the file nor a pod that needs it: it may be gone. */
  forget(namespace: string): void;
}

/** What a ConfigMap has. Its text may have 1 MB, so it is not kept. */
interface Content {
  readonly resourceVersion: string | undefined;
  /** What the cache had at that time: it may not have come further. */
  readonly cached: string | undefined;
  /** Of the file, if this operator wrote or compared it, and there is no other file beside it. */
  readonly version: string | undefined;
  readonly isImmutable: boolean;
}

type FoundFile = KubeObject & Content;

/**
 * What to do about the file in one namespace. It is never deleted: pods may start while no operator runs. A ConfigMap
 * without the label is a user’s own.
 */
export function planFile(
  version: string,
  found: (KubeObject & Pick<Content, 'version' | 'isImmutable'>) | undefined,
  isNeeded: boolean,
): 'create' | 'update' | 'nothing' | 'in-place' | 'foreign' | 'immutable' {
  if (found === undefined) return isNeeded ? 'create' : 'nothing';
  if (found.metadata.labels?.[ROUTES_LABEL] === undefined) return 'foreign';
  if (found.metadata.deletionTimestamp !== undefined) return 'nothing';
  if (found.version === version) return 'in-place';
  return found.isImmutable ? 'immutable' : 'update';
}

/** Keeps the ConfigMap with the file of routes in each namespace. */
export class RouteFiles {
  readonly #options: RouteFilesOptions;
  readonly #obstacles = new Map<string, Obstacle>();
  /** By namespace. Another resourceVersion in the cache means that it must be read again. */
  readonly #contents = new Map<string, Content>();

  constructor(options: RouteFilesOptions) {
    this.#options = options;
  }

  /** The namespaces whose file cannot be written, and why. */
  get obstacles(): ReadonlyMap<string, Obstacle> {
    return this.#obstacles;
  }

  /** Brings the file of one namespace up to date. With `isNeeded`, it is made even before the first pod is in the cache. */
  async reconcile(namespace: string, signal: AbortSignal, isNeeded = false): Promise<Result> {
    const { file: fileOf, hasSidecars, delivered } = this.#options;
    const found = await this.#find(namespace, signal);
    const file = await fileOf(namespace);
    const step = planFile(file.version, found, isNeeded || hasSidecars(namespace));
    if (step === 'nothing') {
      if (found) return {};
      this.#contents.delete(namespace);
      this.#obstacles.delete(namespace);
      this.#options.forget(namespace);
      return {};
    }
    if (step === 'foreign' || step === 'immutable') {
      this.#block(REFUSALS[step](namespace), namespace);
      return {};
    }
    for (const [from, bytes] of file.leftOut) {
      this.#warn(namespace, { reason: 'RoutesTooLarge', message: leftOutText(from, bytes, namespace) });
    }
    const isNew = step !== 'in-place';
    const isDelivered = !isNew || (await this.#write(namespace, found, file, signal));
    this.#obstacles.delete(namespace);
    if (isDelivered) delivered(namespace, file, isNew);
    return {};
  }

  /** The ConfigMap of a namespace. It is read only if it is not as this operator wrote it or read it last. */
  async #find(namespace: string, signal: AbortSignal): Promise<FoundFile | undefined> {
    const { configMaps, client, file } = this.#options;
    const cached = configMaps.get(`${namespace}/${ROUTES_CONFIG_MAP}`);
    const known = this.#contents.get(namespace);
    if (!cached && !known) return undefined;
    const seen = cached?.metadata.resourceVersion;
    if (cached && known && (known.resourceVersion === seen || known.cached === seen)) {
      return { ...known, metadata: cached.metadata };
    }
    const selection = { namespace, fieldSelector: ONLY_ROUTES_MAPS, signal };
    const [found] = (await client.list(ROUTES_MAPS, selection, ROUTES_MAPS.decode)).items;
    this.#contents.delete(namespace);
    if (!found) return undefined;
    const { data = {}, immutable, metadata } = found;
    const text = data[ROUTES_FILE];
    const wanted = await file(namespace);
    const content = {
      resourceVersion: metadata.resourceVersion,
      cached: seen,
      version: text === wanted.text && Object.keys(data).length === 1 ? wanted.version : undefined,
      isImmutable: immutable === true,
    };
    this.#contents.set(namespace, content);
    return { ...content, metadata };
  }

  /** Returns false if another client was faster: the watch delivers the new state. */
  async #write(
    namespace: string,
    found: FoundFile | undefined,
    file: RouteFile,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, configMaps, namespace: home } = this.#options;
    const { text, version } = file;
    const cached = configMaps.get(`${namespace}/${ROUTES_CONFIG_MAP}`)?.metadata.resourceVersion;
    const data = { [ROUTES_FILE]: text };
    const ref = { namespace, name: ROUTES_CONFIG_MAP };
    const options = { fieldManager: ROUTES_MANAGER, signal };
    const operations = [
      { op: 'test' as const, path: '/metadata/resourceVersion', value: found?.resourceVersion },
      { op: 'add' as const, path: '/data', value: data },
    ];
    const metadata = { ...ref, labels: { [ROUTES_LABEL]: home } };
    const created = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    try {
      const written = await (found
        ? client.jsonPatch(MAPS_METADATA, ref, operations, options)
        : client.create(MAPS_METADATA, created, options));
      const { resourceVersion } = written.metadata;
      this.#contents.set(namespace, { resourceVersion, cached, version, isImmutable: false });
      return true;
    } catch (err) {
      if (isOvertaken(err) || isNotFound(err) || isNamespaceTerminating(err)) return false;
      if (isRefused(err)) {
        const message = `the API server refused ConfigMap ${ROUTES_CONFIG_MAP} in namespace ${namespace}, and the operator is retrying: ${err.message}`;
        this.#block({ reason: REQUEST_REFUSED, message }, namespace);
      }
      throw err;
    }
  }

  #block(obstacle: Obstacle, namespace: string): void {
    this.#obstacles.set(namespace, obstacle);
    this.#options.refused(namespace);
    this.#warn(namespace, obstacle);
  }

  #warn(namespace: string, { reason, message: note }: Obstacle): void {
    const object = regardingOf(CONFIG_MAPS, { metadata: { namespace, name: ROUTES_CONFIG_MAP } });
    this.#options.events.event(object, { type: 'Warning', reason, action: 'Deliver', note });
  }
}

const REFUSALS = {
  foreign: (namespace: string): Obstacle => ({
    reason: 'RoutesNotOurs',
    message: `ConfigMap ${ROUTES_CONFIG_MAP} in namespace ${namespace} has no label ${ROUTES_LABEL}, so the operator does not write to it: rename or delete it`,
  }),
  immutable: (namespace: string): Obstacle => ({
    reason: 'RoutesNotOurs',
    message: `ConfigMap ${ROUTES_CONFIG_MAP} in namespace ${namespace} is immutable: delete it (the operator creates it again)`,
  }),
};
