import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
} from '../kube/api/api-error.ts';
import { CONFIG_MAPS } from '../kube/api/core-resources.ts';
import type { Lister } from '../kube/cache/store.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Result } from '../kube/controller/controller.ts';
import type { EventRecorder } from '../kube/events/events.ts';
import { leftOutText, MAX_BYTES } from '../routing/left-out.ts';
import type { RouteFile } from '../routing/route-configuration.ts';
import type { Obstacle } from '../routing/status.ts';
import { ROUTES_FILE } from '../sidecar/envoy/routed.ts';
import { planFile } from './file-plan.ts';
import { ROUTES_CONFIG_MAP, ROUTES_LABEL, ROUTES_MANAGER, type RoutesMap } from './resources.ts';

export interface RouteFilesOptions {
  readonly client: Pick<KubeClient, 'create' | 'jsonPatch'>;
  readonly configMaps: Pick<Lister<RoutesMap>, 'get'>;
  /** The operator’s namespace. */
  readonly namespace: string;
  /** The file for clients in a namespace. */
  file(namespace: string): RouteFile;
  hasSidecars(namespace: string): boolean;
  readonly events: EventRecorder;
  /** Called when the file is in place; `isNew` if this call has written it. */
  delivered(namespace: string, file: RouteFile, isNew: boolean): void;
  refused(namespace: string, file: RouteFile): void;
}

/** Keeps the ConfigMap with the file of routes in each namespace. */
export class RouteFiles {
  readonly #options: RouteFilesOptions;
  readonly #obstacles = new Map<string, Obstacle>();

  constructor(options: RouteFilesOptions) {
    this.#options = options;
  }

  /** The namespaces whose file cannot be written, and why. */
  get obstacles(): ReadonlyMap<string, Obstacle> {
    return this.#obstacles;
  }

  /** Brings the file of one namespace up to date. With `isNeeded`, it is made even before the first pod is in the cache. */
  async reconcile(namespace: string, signal: AbortSignal, isNeeded = false): Promise<Result> {
    const { configMaps, file: fileOf, hasSidecars, delivered } = this.#options;
    const file = fileOf(namespace);
    const found = configMaps.get(`${namespace}/${ROUTES_CONFIG_MAP}`);
    const step = planFile({ text: file.text, found, isNeeded: isNeeded || hasSidecars(namespace) });
    if (step === 'nothing') return {};
    if (step === 'foreign' || step === 'immutable' || step === 'too-large') {
      this.#refuse(step, namespace, file);
      return {};
    }
    this.#obstacles.delete(namespace);
    for (const [from, bytes] of file.leftOut) {
      this.#warn(namespace, { reason: 'RoutesTooLarge', message: leftOutText(from, bytes, namespace) });
    }
    if (step === 'in-place') delivered(namespace, file, false);
    else if (await this.#write(namespace, found, file, signal)) delivered(namespace, file, true);
    return {};
  }

  /** Returns false if another client was faster: the watch delivers the new state. */
  async #write(
    namespace: string,
    found: RoutesMap | undefined,
    { text }: RouteFile,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, namespace: home } = this.#options;
    const [data, options] = [{ [ROUTES_FILE]: text }, { fieldManager: ROUTES_MANAGER, signal }];
    try {
      if (found === undefined) {
        const metadata = { namespace, name: ROUTES_CONFIG_MAP, labels: { [ROUTES_LABEL]: home } };
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
        await client.create(CONFIG_MAPS, object, options);
        return true;
      }
      const operations = [
        { op: 'test' as const, path: '/metadata/resourceVersion', value: found.metadata.resourceVersion },
        { op: 'add' as const, path: '/data', value: data },
      ];
      await client.jsonPatch(CONFIG_MAPS, { namespace, name: ROUTES_CONFIG_MAP }, operations, options);
      return true;
    } catch (err) {
      const isOvertaken = isAlreadyExists(err) || isConflict(err) || isInvalid(err) || isNotFound(err);
      if (!isOvertaken && !isNamespaceTerminating(err)) throw err;
      return false;
    }
  }

  #refuse(why: keyof typeof REFUSALS, namespace: string, file: RouteFile): void {
    const obstacle = REFUSALS[why](Buffer.byteLength(file.text), namespace);
    this.#obstacles.set(namespace, obstacle);
    this.#options.refused(namespace, file);
    this.#warn(namespace, obstacle);
  }

  #warn(namespace: string, { reason, message: note }: Obstacle): void {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: ROUTES_CONFIG_MAP } };
    this.#options.events.event(object, { type: 'Warning', reason, action: 'Deliver', note });
  }
}

const REFUSALS = {
  foreign: (_: number, namespace: string): Obstacle => ({
    reason: 'RoutesNotOurs',
    message: `the ConfigMap ${ROUTES_CONFIG_MAP} of namespace ${namespace} has no label ${ROUTES_LABEL}, so the operator does not write to it: rename or delete it`,
  }),
  immutable: (_: number, namespace: string): Obstacle => ({
    reason: 'RoutesNotOurs',
    message: `the ConfigMap ${ROUTES_CONFIG_MAP} of namespace ${namespace} is immutable: delete it, and the operator creates it again`,
  }),
  'too-large': (bytes: number, namespace: string): Obstacle => ({
    reason: 'RoutesTooLarge',
    message: `the routes that apply in namespace ${namespace} take ${bytes} bytes, more than ${MAX_BYTES}: sidecars keep the routes from before. Remove routes`,
  }),
};
