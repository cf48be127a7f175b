import {
  type ConfigurationAge,
  cachedAge,
  ENVOY_CONFIG_MAP,
} from '../../../injection/envoy/configuration-age.ts';
import type { Keys } from '../../../injection/keys.ts';
import { parseStatus } from '../../../injection/status.ts';
import { COPIED_CONFIG_MAPS } from '../../../kube/api/core-resources.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import type { Informer } from '../../../kube/cache/informer.ts';
import { waitForSync } from '../../../kube/cache/wait-for-sync.ts';
import type { Served } from '../../../kube/client/discovery.ts';
import type { Manager } from '../../../kube/manager/manager.ts';
import {
  grantSummary,
  HTTP_ROUTES,
  type LiveGrant,
  type LiveRoute,
  type LiveService,
  ONLY_ROUTES_MAPS,
  REFERENCE_GRANTS,
  ROUTES_CONFIG_MAP,
  ROUTES_MAPS,
  routeSummary,
  SERVICES,
  serviceSummary,
} from './resources.ts';
import { PARENT, parentsIn } from './route-warnings.ts';
import { ROUTED_IN } from './sidecars.ts';

const MAPS_METADATA = { ...ROUTES_MAPS, metadataOnly: true as const };

/** What the delivery of routes watches. */
export class RouteCaches {
  readonly routes: Informer<LiveRoute>;
  readonly services: Informer<LiveService>;
  /** Empty where the cluster has no such CRD. */
  readonly grants: Informer<LiveGrant>;
  /** The metadata of the ConfigMaps with routes. */
  readonly maps: Informer<KubeObject>;
  readonly pods: Informer<KubeObject>;
  readonly #envoyMaps: Informer<KubeObject>;
  readonly #statusKey: string;
  readonly #grantsServed: Served;

  /** `startWhen` resolves once the API server serves HTTPRoutes. */
  constructor(
    manager: Manager,
    pods: Informer<KubeObject>,
    keys: Keys,
    startWhen: (signal: AbortSignal) => Promise<boolean>,
  ) {
    this.#statusKey = keys.status;
    this.routes = manager.informer(HTTP_ROUTES, {
      startWhen,
      transform: routeSummary,
      indexers: { [PARENT]: parentsIn },
    });
    this.services = manager.informer(SERVICES, { startWhen, transform: serviceSummary });
    this.#grantsServed = manager.served(REFERENCE_GRANTS);
    this.grants = manager.informer(REFERENCE_GRANTS, {
      startWhen: this.#grantsServed.until,
      transform: grantSummary,
    });
    this.maps = manager.informer(MAPS_METADATA, { fieldSelector: ONLY_ROUTES_MAPS, startWhen });
    // The same as for the copies of it.
    const fieldSelector = `metadata.name=${ENVOY_CONFIG_MAP}`;
    this.#envoyMaps = manager.informer(COPIED_CONFIG_MAPS, { fieldSelector });
    this.pods = pods;
    pods.addIndexers({
      [ROUTED_IN]: (pod) => (this.isRouted(pod) && pod.metadata.namespace ? [pod.metadata.namespace] : []),
    });
  }

  /** Resolves with true when all are known. */
  async waitForSync(signal: AbortSignal): Promise<boolean> {
    await this.#grantsServed.known(signal);
    return waitForSync(this.#all(), signal);
  }

  hasSynced(): boolean {
    return this.#grantsServed.isServed !== undefined && this.#all().every((informer) => informer.hasSynced());
  }

  /** Whether the sidecar of a pod mounts the file of routes. */
  isRouted({ metadata }: KubeObject): boolean {
    const status = parseStatus(metadata.annotations?.[this.#statusKey]);
    return status?.added.volumes?.includes(ROUTES_CONFIG_MAP) ?? false;
  }

  routedPods(): readonly KubeObject[] {
    return this.pods.lister.list().filter((pod) => this.isRouted(pod));
  }

  routedPodsIn(namespace: string): readonly KubeObject[] {
    return this.pods.lister.byIndex(ROUTED_IN, namespace);
  }

  /** Whether sidecars follow routes in a namespace, or anywhere if it is undefined. */
  hasSidecars(namespace: string | undefined): boolean {
    const namespaces = namespace === undefined ? [...this.namespaces()] : [namespace];
    return namespaces.some((each) => this.routedPodsIn(each).length > 0);
  }

  /** The namespaces that have the file of routes. */
  namespaces(): ReadonlySet<string> {
    return namespacesOf(this.maps.lister.list());
  }

  hasFile(namespace: string): boolean {
    return this.maps.lister.get(`${namespace}/${ROUTES_CONFIG_MAP}`) !== undefined;
  }

  /** Envoy's configuration in a namespace; undefined if it has none. */
  configuration(namespace: string): ConfigurationAge | undefined {
    return cachedAge(this.#envoyMaps.lister.get(`${namespace}/${ENVOY_CONFIG_MAP}`));
  }

  #all() {
    const grants = this.#grantsServed.isServed ? [this.grants] : [];
    return [this.routes, this.services, this.maps, this.pods, ...grants];
  }
}

export function namespacesOf(objects: readonly KubeObject[]): ReadonlySet<string> {
  return new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
}
