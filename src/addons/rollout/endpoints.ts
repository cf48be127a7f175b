import { ENDPOINT_SLICES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isObject, type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';

/** Whether a Service sends requests to the pod with this UID: one of its slices says that the pod is ready. */
export async function isServed(
  client: Pick<KubeClient, 'list'>,
  namespace: string | undefined,
  uid: string,
  signal: AbortSignal,
): Promise<boolean> {
  const serves = (endpoint: JsonObject) => {
    const conditions = own(endpoint, 'conditions');
    // `ready` is always true where a Service publishes pods that are not Ready: `serving` is the pod's own. Absent means yes.
    const isServing = (own(conditions, 'serving') ?? own(conditions, 'ready')) !== false;
    return isServing && ownString(own(endpoint, 'targetRef'), 'uid') === uid;
  };
  const read = (slice: unknown) => isObject(slice) && ownObjects(slice, 'endpoints').some(serves);
  return (await client.list(ENDPOINT_SLICES, { namespace, signal }, read)).items.includes(true);
}
