import { isObject, type JsonObject, type JsonValue, own } from '../../../util/json.ts';
import { containers, initContainers, isNativeSidecar, nameOf, type Pod, specField } from '../pod.ts';
import { formatQuantity, parseQuantity } from '../quantity.ts';

/** Amounts by the name of the resource, in thousand-millionths of its unit. */
export type Amounts = Map<string, bigint>;

/**
 * What the API server rejects in a pod with resources of its own (`spec.resources`): containers that
 * together request more, and a container with a higher limit
 * (k8s.io/kubernetes/pkg/apis/core/validation, validatePodResourceConsistency).
 */
export function podResourceViolations(pod: Pod): readonly string[] {
  const resources = specField(pod, 'resources');
  if (resources === undefined || resources === null) return [];
  const [requests, limits] = [amountsOf(own(resources, 'requests')), amountsOf(own(resources, 'limits'))];
  const bound = (list: string, name: string) =>
    `spec.resources.${list}.${name}, which is ${own(own(resources, list), name)}`;
  const requested = [...totalOf(pod, requestsOf)]
    .filter(([name, total]) => total > (requests.get(name) ?? total))
    .map(([name]) => `the containers would request more than ${bound('requests', name)}`);
  const limited = containers(pod).flatMap((container) =>
    [...amountsOf(own(own(container, 'resources'), 'limits'))]
      .filter(([name, limit]) => limit > (limits.get(name) ?? limit))
      .map(([name]) => `the limit of container ${nameOf(container)} is higher than ${bound('limits', name)}`),
  );
  return [...requested, ...limited];
}

/** The resources for which the API server fills in the pod's own request from its containers. */
const FILLED_IN = ['cpu', 'memory'] as const;

/**
 * The pod's own requests that must change with its containers, by resource. The API server fills in a missing one if
 * the pod has limits of its own: the sum of its containers' requests, or the limit if none of them requests it. It does
 * so before a webhook sees the pod. So a request that equals the sum grows with it up to the limit, and a missing one
 * that would be the limit is written down.
 */
export function grownRequests(before: Pod, after: Pod): ReadonlyMap<string, JsonValue> {
  const resources = specField(before, 'resources');
  const [limits, requests] = [own(resources, 'limits'), own(resources, 'requests')];
  const grown = new Map<string, JsonValue>();
  if (!isObject(limits) || Object.keys(limits).length === 0) return grown;
  const [old, sum] = [totalOf(before, requestsOf), totalOf(after, requestsOf)];
  for (const name of FILLED_IN) {
    const [total, request] = [sum.get(name), own(requests, name) ?? undefined];
    const limit = own(limits, name) ?? undefined;
    if (total === undefined || total === old.get(name)) continue;
    if (request === undefined) {
      if (limit !== undefined && !old.has(name)) grown.set(name, limit);
    } else if (parseQuantity(request) === old.get(name) && total <= (parseQuantity(limit) ?? total)) {
      grown.set(name, formatQuantity(total, firstRequest(after, name)));
    }
  }
  return grown;
}

/** A sum of quantities is written like the first of them. */
function firstRequest(pod: Pod, name: string): JsonValue | undefined {
  const resources = [...containers(pod), ...initContainers(pod)].map((container) =>
    own(container, 'resources'),
  );
  const requests = resources.map(
    (each) => own(own(each, 'requests'), name) ?? own(own(each, 'limits'), name),
  );
  return requests.find((request) => (parseQuantity(request) ?? 0n) !== 0n);
}

/** The amounts of a pod: native sidecars run beside everything that starts after them (KEP-753). */
export function totalOf(pod: Pod, of: (container: JsonObject) => Amounts): Amounts {
  const total: Amounts = new Map();
  for (const container of containers(pod)) add(total, of(container));
  const natives: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of initContainers(pod)) {
    const requests = of(container);
    if (isNativeSidecar(container)) {
      add(total, requests);
      add(natives, requests);
    } else {
      // For a resource without a request here, the native sidecars before it are already in the total.
      for (const [name, amount] of requests) raise(starting, name, (natives.get(name) ?? 0n) + amount);
    }
  }
  for (const [name, amount] of starting) raise(total, name, amount);
  return total;
}

/** The requests; a missing one equals the limit, as the API server defaults it. */
export function requestsOf(container: JsonObject): Amounts {
  const resources = own(container, 'resources');
  return new Map([...amountsOf(own(resources, 'limits')), ...amountsOf(own(resources, 'requests'))]);
}

/** Quantities by the name of the resource. */
export function amountsOf(quantities: JsonValue | undefined): Amounts {
  const parsed: Amounts = new Map();
  for (const [name, quantity] of Object.entries(isObject(quantities) ? quantities : {})) {
    const amount = parseQuantity(quantity);
    if (amount !== undefined) parsed.set(name, amount);
  }
  return parsed;
}

function add(to: Amounts, more: Amounts): void {
  for (const [name, amount] of more) to.set(name, (to.get(name) ?? 0n) + amount);
}

function raise(to: Amounts, name: string, least: bigint): void {
  if (least > (to.get(name) ?? 0n)) to.set(name, least);
}
