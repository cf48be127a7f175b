import type { HTTPRoute, Service } from '../../../src/addons/routes/compile/route.ts';
import { routeFor, serviceAt } from './routes.ts';

/** So many namespaces have each as many of the Services and routes as the next one. */
export interface RouteWorldSize {
  readonly routes: number;
  readonly services: number;
  readonly namespaces: number;
}

/** Service number `index`, `NAMESPACE/service-INDEX`. */
export function worldService(index: number, { namespaces }: Pick<RouteWorldSize, 'namespaces'>): Service {
  const address = `10.${96 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return serviceAt(`${worldNamespace(index % namespaces)}/service-${index}`, address);
}

/**
 * Route number `index`: one rule for a path of its own, with a canary of two backends. Every tenth is a consumer route,
 * which replaces those of the Service for the clients of its own namespace. `change` is in the path.
 */
export function worldRoute(index: number, size: RouteWorldSize, change = 0): HTTPRoute {
  const { services, namespaces } = size;
  const parent = worldKey(index % services, size);
  const backend = (at: number, weight: number) => {
    const [namespace = '', name = ''] = worldKey(at % services, size).split('/');
    return { name, namespace, port: 80, weight };
  };
  const producer = parent.split('/')[0] ?? '';
  const namespace = index % 10 === 9 ? worldNamespace((index + 1) % namespaces) : producer;
  const route = routeFor(`${namespace}/route-${index}`, parent, [
    {
      matches: [{ path: { type: 'PathPrefix', value: `/route-${index}/${change}` } }],
      backendRefs: [backend(index, 90), backend(index + namespaces, 10)],
    },
  ]);
  return { ...route, metadata: { ...route.metadata, generation: change + 1 } };
}

export function worldNamespace(index: number): string {
  return `clients-${index}`;
}

function worldKey(service: number, { namespaces }: Pick<RouteWorldSize, 'namespaces'>): string {
  return `${worldNamespace(service % namespaces)}/service-${service}`;
}
