import { CONFIG_MAPS, type ConfigMap } from '../../../kube/api/core-resources.ts';
import { identityOf } from '../../../kube/api/object.ts';
import { decodeShape, kindOf, type Resource } from '../../../kube/api/resource.ts';
import { defined } from '../../../util/json.ts';
import { GRANT, type ReferenceGrant } from '../compile/grants.ts';
import { GRPC_ROUTE, HTTP_ROUTE, isGrpcRoute, type Route, type Service } from '../compile/route.ts';
import { withoutLongRules } from '../compile/shares.ts';

const GATEWAY_API = 'gateway.networking.k8s.io/v1';

/**
 * The API server checks the shape of a route by the CRD, but not what an earlier schema let through: objects stay as they
 * were stored. The items of a list come without their kind.
 */
export const HTTP_ROUTES: Resource<Route> = {
  ...kindOf(GATEWAY_API, 'HTTPRoute'),
  decode: (value) => ({ ...decodeShape(value, HTTP_ROUTE, 'HTTPRoute'), kind: 'HTTPRoute' }),
};
export const GRPC_ROUTES: Resource<Route> = {
  ...kindOf(GATEWAY_API, 'GRPCRoute'),
  decode: (value) => ({ ...decodeShape(value, GRPC_ROUTE, 'GRPCRoute'), kind: 'GRPCRoute' }),
};

export function resourceOf(route: Route): Resource<Route> {
  return isGrpcRoute(route) ? GRPC_ROUTES : HTTP_ROUTES;
}

/** The API server has validated their spec. */
export const SERVICES: Resource<Service> = kindOf('v1', 'Service');

/** In the version that each release of the Gateway API since 0.6 serves. */
export const REFERENCE_GRANTS: Resource<ReferenceGrant> = {
  ...kindOf('gateway.networking.k8s.io/v1beta1', 'ReferenceGrant'),
  decode: (value) => decodeShape(value, GRANT, 'ReferenceGrant'),
};

/** The ConfigMap with the file of routes, in each namespace with pods that mount it. */
export const ROUTES_CONFIG_MAP = 'envoy-routes';
/** Its label. The value is the operator’s namespace. */
export const ROUTES_LABEL = 'initializer.kubernetes.io/routes-of';
export const ROUTES_MANAGER = 'envoy-initializer-routes';

/** The annotation whose change makes the kubelet of a pod mount a changed ConfigMap at once. */
export const TOUCH = 'initializer.kubernetes.io/envoy-routes';

/** A ConfigMap with the file of routes. */
export type RoutesMap = ConfigMap & { readonly immutable?: boolean };

export const ROUTES_MAPS: Resource<RoutesMap> = CONFIG_MAPS;
/** For a cache, and for writes, of whose answers nothing else is read. */
export const MAPS_METADATA = { ...ROUTES_MAPS, metadataOnly: true as const };

/** The field selector of them. The operator may read no other ConfigMap. */
export const ONLY_ROUTES_MAPS = `metadata.name=${ROUTES_CONFIG_MAP}`;

/** Of one Service, routing knows no more: the API has no limit. */
const MAX_PORTS = 256;

/** Keeps what routing reads of a route: managed fields and annotations may be larger than all of it. */
export function routeSummary(route: Route): Route {
  const metadata = identityOf(route, 'generation', 'creationTimestamp', 'deletionTimestamp');
  return withoutLongRules({ ...route, metadata });
}

/** Keeps what routing reads of a Service. */
export function serviceSummary({ metadata, spec = {} }: Service): Service {
  const { type, clusterIP, clusterIPs } = spec;
  // Of one without an address, ports have no meaning, and nothing limits how many of these there are.
  const hasAddress = (clusterIPs ?? [clusterIP]).some((address) => address && address !== 'None');
  const ports = hasAddress ? spec.ports : undefined;
  const known = ports
    ?.slice(0, MAX_PORTS)
    .map(({ name, port, protocol, appProtocol }) => defined({ name, port, protocol, appProtocol }));
  return { metadata: identityOf({ metadata }), spec: defined({ type, clusterIP, clusterIPs, ports: known }) };
}

/** Keeps what routing reads of a ReferenceGrant. */
export function grantSummary({ metadata, spec: { from, to } }: ReferenceGrant): ReferenceGrant {
  return { metadata: identityOf({ metadata }), spec: { from, to } };
}
