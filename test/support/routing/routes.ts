import { loadAll } from 'js-yaml';
import type { RoutingInput } from '../../../src/addons/routes/compile/compile.ts';
import type {
  GRPCRoute,
  GRPCRouteRule,
  HTTPRoute,
  HTTPRouteRule,
  ParentReference,
  Route,
  Service,
} from '../../../src/addons/routes/compile/route.ts';
import { keyOf } from '../../../src/kube/api/object.ts';

/** The Services echo, v1 and v2 of the namespace shop, and those and the routes of manifests. */
export function routingInput(yaml: string): RoutingInput {
  const objects = loadAll(yaml) as readonly { readonly kind: string }[];
  const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
  return {
    routes: [...ofKind('HTTPRoute'), ...ofKind('GRPCRoute')] as readonly unknown[] as readonly Route[],
    services: servicesOf([...SERVICES, ...(ofKind('Service') as readonly unknown[] as readonly Service[])]),
  };
}

const SERVICES: readonly Service[] = [
  serviceAt('shop/echo', '10.96.0.7'),
  serviceAt('shop/v1', '10.96.0.11'),
  serviceAt('shop/v2', '10.96.0.12'),
];

export function servicesOf(services: readonly Service[]): ReadonlyMap<string, Service> {
  return new Map(services.map((service) => [keyOf(service), service]));
}

export function serviceAt(key: string, ...clusterIPs: readonly string[]): Service {
  const [namespace = '', name = ''] = key.split('/');
  return { metadata: { namespace, name }, spec: { clusterIPs, ports: [{ port: 80 }] } };
}

/** A route for Service `parent`, `namespace/name`. */
export function routeFor(
  key: string,
  parent: string,
  rules: readonly HTTPRouteRule[],
  more: Partial<ParentReference> = {},
): HTTPRoute {
  const [namespace = '', name = ''] = key.split('/');
  const [parentNamespace = '', parentName = ''] = parent.split('/');
  const reference = { group: '', kind: 'Service', namespace: parentNamespace, name: parentName, ...more };
  return {
    metadata: { namespace, name, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { parentRefs: [reference], rules },
  };
}

/** A GRPCRoute for Service `parent`, `namespace/name`. */
export function grpcRouteFor(
  key: string,
  parent: string,
  rules: readonly GRPCRouteRule[],
  more: Partial<ParentReference> = {},
): GRPCRoute {
  const route = routeFor(key, parent, [], more);
  return { ...route, kind: 'GRPCRoute', spec: { ...route.spec, rules } };
}
