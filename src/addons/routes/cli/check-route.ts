import type { CheckFinding, ObjectReport } from '../../../cli/check/check-report.ts';
import { ifReadable } from '../../../kube/api/api-error.ts';
import { ENDPOINT_SLICES } from '../../../kube/api/core-resources.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { UsageError } from '../../../kube/util/errors.ts';
import { counted } from '../../../util/clip.ts';
import { isObject, own, ownObjects, ownString } from '../../../util/json.ts';
import type { Compilation, CompiledRoute } from '../compile/compile.ts';
import { explainRoute, NO_SIDECAR, routeProblems } from '../compile/explain.ts';
import { routeKey } from '../compile/route.ts';
import { CONTROLLER_NAME, PROGRAMMED } from '../compile/status.ts';
import { compileLive } from './check-routes.ts';

/** Says what a route does, and what keeps it from doing more. */
export async function checkRoute(
  client: KubeClient,
  kind: string,
  metadata: { readonly namespace: string; readonly name: string },
): Promise<ObjectReport> {
  const { namespace } = metadata;
  const object = `${kind.toLowerCase()}/${metadata.name}`;
  const { compilation } = await compileLive(client);
  const key = routeKey({ kind, metadata });
  const route = compilation.routes.get(key);
  if (!route) throw new UsageError(`${object} does not exist in namespace ${namespace}`);
  const backends = await Promise.all(
    backendsOf(compilation, route).map(async (service) => ({
      service,
      ready: await readyEndpoints(client, service),
    })),
  );
  const idle = backends.filter(({ ready }) => ready === 0);
  return {
    object,
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
      ...delivery(route),
    ],
  };
}

function endpoints(ready: number | undefined): string {
  return ready === undefined ? 'unknown endpoints: you may not read them' : counted(ready, 'ready endpoint');
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
  const { namespace = '' } = object.metadata;
  const targets = compilation
    .ports(namespace)
    .flatMap(({ entries }) => entries)
    .filter(({ route }) => route === routeKey(object))
    .flatMap(({ action }) => (action.kind === 'forward' ? action.backends : []));
  const isLost = (service: string) => faults.some(({ message }) => message.includes(`Service ${service} `));
  const services = targets.flatMap((target) => ('broken' in target ? [] : target.service));
  return [...new Set(services)].filter((service) => !isLost(service));
}

/** Undefined if the user may not read them. */
async function readyEndpoints(client: KubeClient, service: string): Promise<number | undefined> {
  const [namespace = '', name = ''] = service.split('/');
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const slices = await ifReadable(client.list(ENDPOINT_SLICES, { namespace, labelSelector }));
  // A Service of both families has two slices with the same pods.
  const ready = slices?.items.flatMap((slice) =>
    (isObject(slice) ? ownObjects(slice, 'endpoints') : [])
      .filter((endpoint) => own(own(endpoint, 'conditions'), 'ready') !== false)
      .map(
        (endpoint) =>
          ownString(own(endpoint, 'targetRef'), 'uid') ?? JSON.stringify(own(endpoint, 'addresses')),
      ),
  );
  return ready && new Set(ready).size;
}
