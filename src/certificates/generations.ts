import { LIVE_PODS, PODS } from '../kube/api/core-resources.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { isObject, own, ownString } from '../util/json.ts';
import { PROGRAM } from '../util/own-names.ts';

const POD_METADATA = { ...PODS, metadataOnly: true as const };

/**
 * Whether replicas of more than one pod template exist: during a rollout, they may serve certificates of different
 * authorities. Reads from the API server, because a cache may lack the newest replica.
 */
export async function isRollingOut(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  const selection = { namespace, labelSelector: `app=${PROGRAM}`, fieldSelector: LIVE_PODS, signal };
  const { items } = await client.list(POD_METADATA, selection, templateHash);
  return new Set(items).size > 1;
}

/** The label that the Deployment's controller gives all pods of one template. */
function templateHash(pod: unknown): string | undefined {
  return isObject(pod) ? ownString(own(own(pod, 'metadata'), 'labels'), 'pod-template-hash') : undefined;
}
