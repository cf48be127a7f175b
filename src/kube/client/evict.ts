import { ApiError, isConflict, isNotFound } from '../api/api-error.ts';
import { PODS } from '../api/core-resources.ts';
import type { KubeObject } from '../api/object.ts';
import { resourcePath } from '../api/resource.ts';
import type { KubeClient } from './client.ts';

/**
 * Evicts a pod by the Eviction API (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/), if it
 * still has this UID. Returns `refused` if a PodDisruptionBudget does not allow it now. A dry run only asks.
 */
export async function evict(
  client: Pick<KubeClient, 'request'>,
  { metadata: { namespace, name, uid } }: KubeObject,
  { signal, dryRun }: { readonly signal: AbortSignal; readonly dryRun?: boolean },
): Promise<'evicted' | 'refused' | 'gone'> {
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid }, ...(dryRun && { dryRun: ['All'] }) },
  };
  const path = resourcePath(PODS, { namespace, name }, 'eviction');
  const query = { dryRun: dryRun ? 'All' : undefined };
  try {
    await client.request('POST', path, { body, query, signal });
    return 'evicted';
  } catch (err) {
    if (err instanceof ApiError && err.causes.includes('DisruptionBudget')) return 'refused';
    // 409: another pod has the name now.
    if (isNotFound(err) || isConflict(err)) return 'gone';
    throw err;
  }
}
