import type { CheckFinding, ObjectReport } from '../../../cli/check/check-report.ts';
import { isForbidden, isNotFound } from '../../../kube/api/api-error.ts';
import { ENDPOINT_SLICES } from '../../../kube/api/core-resources.ts';
import type { KubeObject } from '../../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../../kube/api/resource.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { UsageError } from '../../../kube/util/usage-error.ts';
import { isObject, own, ownObjects, ownString } from '../../../util/json.ts';
import type { Compilation, CompiledRoute } from '../compile/compile.ts';
import { explainRoute } from '../compile/explain.ts';
import { NO_SIDECAR, routeProblems } from '../compile/problems.ts';
import { CONTROLLER_NAME, PROGRAMMED } from '../compile/status.ts';
import { all, compileLive } from './check-routes.ts';

const GRPC_ROUTES: Resource<KubeObject> = {
  group: 'gateway.networking.k8s.io',
  version: 'v1',
  kind: 'GRPCRoute',
  plural: 'grpcroutes',
  namespaced: true,
  decode: decodeObject,
};

/** Says what a route does, and what keeps it from doing more. */
export async function checkRoute(client: KubeClient, namespace: string, name: string): Promise<ObjectReport> {
  const { compilation } = await compileLive(client);
  const key = `${namespace}/${name}`;
  const route = compilation.routes.get(key);
  if (!route) throw new UsageError(`httproute/${name} does not exist in namespace ${namespace}`);
  const backends = await Promise.all(
    backendsOf(compilation, route).map(async (service) => ({
      service,
      ready: await readyEndpoints(client, service),
    })),
  );
  const idle = backends.filter(({ ready }) => ready === 0);
  return {
    object: `httproute/${name}`,
    namespace,
    because: [
      ...explainRoute(compilation, key),
      ...backends.map(({ service, ready }) => `Service ${service} has ${endpoints(ready)}`),
      ...statusLines(route),
    ],
    findings: [
      ...routeProblems(compilation, key),
      ...idle.map(({ service }) => ({
        reason: 'no-ready-endpoints',
        message: `Service ${service} has no ready endpoint: its share of requests gets 503`,
      })),
      ...(await grpcRoutes(client, route)),
      ...delivery(route),
    ],
  };
}

function endpoints(ready: number | undefined): string {
  if (ready === undefined) return 'endpoints that you may not read';
  return ready === 1 ? '1 ready endpoint' : `${ready} ready endpoints`;
}

function statusLines({ object }: CompiledRoute): readonly string[] {
  return (object.status?.parents ?? []).flatMap(({ controllerName, conditions }) => {
    const of = (type: string) => conditions.find((each) => each.type === type);
    const programmed = of(PROGRAMMED);
    return [
      `${of('Accepted')?.status === 'True' ? 'accepted' : 'not accepted'} by ${controllerName}`,
      ...(programmed ? [`in use by ${programmed.message}`] : []),
    ];
  });
}

/** What the operator says about the delivery to sidecars. */
function delivery({ object }: CompiledRoute): readonly CheckFinding[] {
  const ours = object.status?.parents.find(({ controllerName }) => controllerName === CONTROLLER_NAME);
  const programmed = ours?.conditions.find(({ type }) => type === PROGRAMMED);
  if (programmed === undefined) return [];
  const { status, reason, message } = programmed;
  if (status === 'False' && reason !== 'Pending') return [{ reason, message }];
  return message === '0 of 0 sidecars' ? [NO_SIDECAR] : [];
}

/** The Services to which a route sends requests. */
function backendsOf(compilation: Compilation, { object, faults }: CompiledRoute): readonly string[] {
  const { namespace = '', name } = object.metadata;
  const targets = compilation
    .ports(namespace)
    .flatMap(({ entries }) => entries)
    .filter(({ route }) => route === `${namespace}/${name}`)
    .flatMap(({ action }) => (action.kind === 'forward' ? action.backends : []));
  const isLost = (service: string) => faults.some(({ message }) => message.includes(`Service ${service} `));
  const services = targets.flatMap((target) => ('broken' in target ? [] : target.service));
  return [...new Set(services)].filter((service) => !isLost(service));
}

/** Undefined if the user may not read them. */
async function readyEndpoints(client: KubeClient, service: string): Promise<number | undefined> {
  const [namespace = '', name = ''] = service.split('/');
  try {
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const { items } = await client.list(ENDPOINT_SLICES, { namespace, labelSelector });
    // A Service of both families has two slices with the same pods.
    const ready = items.flatMap((slice) =>
      (isObject(slice) ? ownObjects(slice, 'endpoints') : [])
        .filter((endpoint) => own(own(endpoint, 'conditions'), 'ready') !== false)
        .map(
          (endpoint) =>
            ownString(own(endpoint, 'targetRef'), 'uid') ?? JSON.stringify(own(endpoint, 'addresses')),
        ),
    );
    return new Set(ready).size;
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/** GRPCRoutes of the same Services, which other implementations may prefer (GEP-1426). */
async function grpcRoutes(
  client: KubeClient,
  { object, attachments }: CompiledRoute,
): Promise<readonly CheckFinding[]> {
  const routes = await all(client, GRPC_ROUTES).catch((err: unknown) => {
    if (isNotFound(err) || isForbidden(err)) return [];
    throw err;
  });
  const services = new Set(
    attachments.map(
      ({ reference: { namespace = object.metadata.namespace, name } }) => `${namespace}/${name}`,
    ),
  );
  return routes.flatMap((route) => {
    const { namespace, name } = route.metadata;
    const parents = isObject(route) ? ownObjects(own(route, 'spec'), 'parentRefs') : [];
    const shared = parents
      .filter((parent) => ownString(parent, 'kind') === 'Service')
      .map((parent) => `${ownString(parent, 'namespace') ?? namespace}/${ownString(parent, 'name')}`)
      .find((service) => services.has(service));
    if (shared === undefined) return [];
    const message = `GRPCRoute ${namespace}/${name} is for Service ${shared}, too. Sidecars follow HTTPRoutes only; other implementations prefer the GRPCRoute`;
    return [{ reason: 'grpc-route', message }];
  });
}
