import type { Keys } from '../../../injection/keys.ts';
import { parseStatus } from '../../../injection/status.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import { type Informer, waitForSync } from '../../../kube/cache/informer.ts';
import type { Lister } from '../../../kube/cache/store.ts';
import { informerIfServed, type OptionalInformer } from '../../../kube/manager/if-served.ts';
import type { Manager } from '../../../kube/manager/manager.ts';
import { parentsIn } from '../compile/attach.ts';
import type { ReferenceGrant } from '../compile/grants.ts';
import type { Route, Service } from '../compile/route.ts';
import {
  GRPC_ROUTES,
  grantSummary,
  HTTP_ROUTES,
  MAPS_METADATA,
  ONLY_ROUTES_MAPS,
  REFERENCE_GRANTS,
  ROUTES_CONFIG_MAP,
  routeSummary,
  SERVICES,
  serviceSummary,
} from './resources.ts';
import { PARENT } from './route-warnings.ts';
import { ROUTED_IN } from './sidecars.ts';

/** What the delivery of routes watches. */
export class RouteCaches {
  /** HTTPRoutes, and GRPCRoutes where the cluster has their CRD. */
  readonly routeInformers: readonly [Informer<Route>, Informer<Route>];
  readonly services: Informer<Service>;
  /** Empty where the cluster has no such CRD. */
  readonly grants: Informer<ReferenceGrant>;
  /** The metadata of the ConfigMaps with routes. */
  readonly maps: Informer<KubeObject>;
  readonly pods: Informer<KubeObject>;
  readonly #statusKey: string;
  /** Kinds that the cluster may lack. */
  readonly #optional: readonly Pick<OptionalInformer<never>, 'known' | 'isKnown'>[];

  /** `startWhen` resolves once the API server serves HTTPRoutes. */
  constructor(
    manager: Manager,
    pods: Informer<KubeObject>,
    keys: Keys,
    startWhen: (signal: AbortSignal) => Promise<boolean>,
  ) {
    this.#statusKey = keys.status;
    const ofRoutes = { transform: routeSummary, indexers: { [PARENT]: parentsIn } };
    const grpc = informerIfServed(manager, GRPC_ROUTES, ofRoutes);
    this.routeInformers = [manager.informer(HTTP_ROUTES, { ...ofRoutes, startWhen }), grpc.informer];
    this.services = manager.informer(SERVICES, { startWhen, transform: serviceSummary });
    const grants = informerIfServed(manager, REFERENCE_GRANTS, { transform: grantSummary });
    this.grants = grants.informer;
    this.#optional = [grpc, grants];
    this.maps = manager.informer(MAPS_METADATA, { fieldSelector: ONLY_ROUTES_MAPS, startWhen });
    this.pods = pods;
    pods.addIndexers({
      [ROUTED_IN]: (pod) => (this.isRouted(pod) && pod.metadata.namespace ? [pod.metadata.namespace] : []),
    });
  }

  /** Resolves with true when all are known. */
  async waitForSync(signal: AbortSignal): Promise<boolean> {
    await Promise.all(this.#optional.map((each) => each.known(signal)));
    return (await waitForSync(this.#required(), signal)) && !signal.aborted;
  }

  hasSynced(): boolean {
    const isKnown = this.#optional.every((each) => each.isKnown());
    return isKnown && this.#required().every((informer) => informer.hasSynced());
  }

  /** Routes of both kinds, by {@link routeKey}. */
  readonly routes: Pick<Lister<Route>, 'get' | 'list' | 'byIndex'> = {
    get: (key) => {
      const [name = '', kind = 'HTTPRoute'] = key.split(' ').reverse();
      return this.routeInformers[kind === 'HTTPRoute' ? 0 : 1].lister.get(name);
    },
    list: () => this.routeInformers.flatMap(({ lister }) => lister.list()),
    byIndex: (index, value) => this.routeInformers.flatMap(({ lister }) => lister.byIndex(index, value)),
  };

  /** What the compilation of routes depends on. */
  get listers() {
    return { routes: this.routes, services: this.services.lister, grants: this.grants.lister };
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

  #required() {
    return [this.routeInformers[0], this.services, this.maps, this.pods];
  }
}

export function namespacesOf(objects: readonly KubeObject[]): ReadonlySet<string> {
  return new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
}
