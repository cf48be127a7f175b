import type { KubeObject } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { defaultElectionTiming } from '../../kube/leaderelection/leader-elector.ts';
import { LEASES } from '../../kube/leaderelection/lease.ts';
import { sleep } from '../../kube/util/sleep.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { conditionOf } from '../../networks/api/conditions.ts';
import { NETWORK_FINALIZER } from '../../networks/api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS, withoutFinalizer } from '../../networks/api/resources.ts';
import type { Network } from '../../networks/api/types.ts';
import { PROGRAM } from '../../util/identity.ts';
import { listed, objectOf, objectsOf } from './objects.ts';
import type { Remover } from './remover.ts';

/** All Networks of the cluster. */
export async function allNetworks(client: KubeClient): Promise<readonly Network[]> {
  return (await objectsOf(client, NETWORKS)) as readonly Network[];
}

/** `a/b, c/d (waits for the pods that use it: …) and 3 more`: what the deletion of each waits for is in its status. */
export function named(networks: readonly Network[]): string {
  return listed(
    networks.map(({ metadata, status }) => {
      const key = `${metadata.namespace}/${metadata.name}`;
      const progressing = conditionOf(status?.conditions, 'Progressing');
      const why = progressing?.status === 'True' ? progressing : conditionOf(status?.conditions, 'Ready');
      return metadata.deletionTimestamp && why ? `${key} (${why.message})` : key;
    }),
  );
}

/**
 * Whether an operator leads: it renews its Lease every 2 s. Looks until the Lease changes, for as long as one lasts (15 s).
 * The times in the Lease are not used, because they are those of another clock.
 */
export async function isLed(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  clock: Clock,
): Promise<boolean> {
  const read = async () =>
    (await objectOf(client, LEASES, { namespace, name: PROGRAM }))?.metadata.resourceVersion;
  const first = await read();
  if (first === undefined) return false;
  const end = clock.now() + defaultElectionTiming.leaseDurationMs;
  while (clock.now() < end) {
    await sleep(clock, defaultElectionTiming.retryPeriodMs / 2);
    if ((await read()) !== first) return true;
  }
  return false;
}

/**
 * Deletes all Networks and waits for the operator to remove the real networks. Without an operator, it removes the
 * finalizers instead.
 */
export async function deleteNetworks(remover: Remover, hasOperator: boolean): Promise<void> {
  const { client } = remover;
  for (const network of await allNetworks(client)) {
    await remover.delete(NETWORKS, network);
    if (!hasOperator) await release(remover, network);
  }
  await remover.untilGone(async () => {
    const rest = await allNetworks(client);
    return rest.length === 0 ? '' : `the Networks ${named(rest)}`;
  });
}

/**
 * Removes the operator's finalizer from the definition of a Network and from the Network; other finalizers stay. It
 * deletes the definition, because the garbage collector leaves objects whose owner's kind no longer exists.
 */
async function release(remover: Remover, { metadata }: Network): Promise<void> {
  const { client } = remover;
  const ref = { namespace: metadata.namespace ?? '', name: metadata.name };
  for (const resource of [NETWORK_ATTACHMENT_DEFINITIONS, NETWORKS] as readonly Resource<KubeObject>[]) {
    const object = await objectOf(client, resource, ref);
    if (object) await remover.patch(resource, object, (live) => withoutFinalizer(live, NETWORK_FINALIZER));
    const owners = object?.metadata.ownerReferences ?? [];
    if (object && owners.length > 0 && owners.every(({ uid }) => uid === metadata.uid))
      await remover.delete(resource, object);
  }
}
