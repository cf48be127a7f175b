import { ApiError, isNotFound } from '../kube/api/api-error.ts';
import { PODS } from '../kube/api/core-resources.ts';
import type { KubeObject } from '../kube/api/object.ts';
import { resourcePath } from '../kube/api/resource.ts';
import type { KubeClient } from '../kube/client/client.ts';

/**
 * Evicts a pod by the Eviction API (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/), if it is
 * still the one of this UID. `refused` where a PodDisruptionBudget does not allow it now.
 */
export async function evict(
  client: Pick<KubeClient, 'request'>,
  { metadata: { namespace, name, uid } }: KubeObject,
  signal: AbortSignal,
): Promise<'evicted' | 'refused' | 'gone'> {
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  try {
    await client.request('POST', resourcePath(PODS, { namespace, name }, 'eviction'), { body, signal });
    return 'evicted';
  } catch (err) {
    if (err instanceof ApiError && err.status === 429) return 'refused';
    // 409: another pod has its name by now.
    if (isNotFound(err) || (err instanceof ApiError && err.status === 409)) return 'gone';
    throw err;
  }
}
