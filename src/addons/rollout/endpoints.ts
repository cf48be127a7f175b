import { ENDPOINT_SLICES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isObject, type JsonValue, own, ownObjects, ownString } from '../../util/json.ts';

/** Whether a Service sends requests to the pod with this UID: one of its slices says that the pod is ready. */
export async function isServed(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
  uid: string,
  signal: AbortSignal,
): Promise<boolean> {
  const read = (slice: unknown) => isReadyIn(slice, uid);
  return (await client.list(ENDPOINT_SLICES, { namespace, signal }, read)).items.includes(true);
}

/** `ready` is always true where a Service publishes pods that are not Ready: `serving` is the pod's own. Absent means yes. */
function isServing(conditions: JsonValue | undefined): boolean {
  return (own(conditions, 'serving') ?? own(conditions, 'ready')) !== false;
}

function isReadyIn(slice: unknown, uid: string): boolean {
  return ownObjects(isObject(slice) ? slice : {}, 'endpoints').some(
    (endpoint) =>
      ownString(own(endpoint, 'targetRef'), 'uid') === uid && isServing(own(endpoint, 'conditions')),
  );
}
