import type { HTTPBackendRef, HTTPHeaderMatch, HTTPRoute, HTTPRouteFilter } from './http-route.ts';
import { keyOf, type ObjectKey } from './objects.ts';

/** A GRPCRoute (v1): an HTTPRoute with other matches, and with fewer kinds of filters. */
export interface GRPCRoute extends Omit<HTTPRoute, 'kind' | 'spec'> {
  readonly kind: 'GRPCRoute';
  readonly spec: Omit<HTTPRoute['spec'], 'rules'> & { readonly rules?: readonly GRPCRouteRule[] };
}

export interface GRPCRouteRule {
  readonly backendRefs?: readonly HTTPBackendRef[];
  readonly filters?: readonly HTTPRouteFilter[];
  readonly matches?: readonly GRPCRouteMatch[];
  readonly name?: string;
}

export interface GRPCRouteMatch {
  readonly headers?: readonly HTTPHeaderMatch[];
  readonly method?: {
    readonly type?: 'Exact' | 'RegularExpression';
    readonly service?: string;
    readonly method?: string;
  };
}

export type Route = HTTPRoute | GRPCRoute;

const GRPC = 'GRPCRoute';

export function isGrpcRoute(route: Pick<Route, 'kind'>): route is GRPCRoute {
  return route.kind === GRPC;
}

/** The kind of a route: an HTTPRoute may come without one. */
export function kindOf(route: Pick<Route, 'kind'>): 'HTTPRoute' | 'GRPCRoute' {
  return isGrpcRoute(route) ? GRPC : 'HTTPRoute';
}

/** `namespace/name` of an HTTPRoute, `GRPCRoute namespace/name` of a GRPCRoute: both may have one name. */
export function routeKey(route: Pick<HTTPRoute, 'kind' | 'metadata'>): ObjectKey {
  return route.kind === GRPC ? `${GRPC} ${keyOf(route)}` : keyOf(route);
}

/** With its kind, for messages. */
export function routeText(key: ObjectKey): string {
  return key.includes(' ') ? key : `HTTPRoute ${key}`;
}
