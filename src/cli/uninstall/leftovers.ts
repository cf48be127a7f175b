import type { Operation } from 'fast-json-patch';
import { COPY_LABEL, isCopy } from '../../injection/webhook/envoy-configuration.ts';
import { ifFound } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, NAMESPACES, POD_METADATA, PODS } from '../../kube/api/core-resources.ts';
import { type KubeObject, refOf } from '../../kube/api/object.ts';
import type { Resource } from '../../kube/api/resource.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { ELECTION_TIMING } from '../../kube/leaderelection/leader-elector.ts';
import { LEASES } from '../../kube/leaderelection/lease.ts';
import { sleep } from '../../kube/util/waits.ts';
import type { Clock } from '../../kube/workqueue/clock.ts';
import { conditionOf } from '../../networks/api/conditions.ts';
import { NETWORK_FINALIZER, NETWORK_GATE } from '../../networks/api/names.ts';
import {
  ANY_NETWORKS,
  NETWORK_ATTACHMENT_DEFINITIONS,
  withoutFinalizer,
} from '../../networks/api/resources.ts';
import { NETWORK, type Network } from '../../networks/api/types.ts';
import { gateIndex } from '../../networks/pods/network-pods.ts';
import { listed } from '../../util/clip.ts';
import { PROGRAM } from '../../util/identity.ts';
import { isObject } from '../../util/json.ts';
import { misfit } from '../../util/shape.ts';
import type { ToolParts } from '../add-on.ts';
import { readDeployment } from '../installation.ts';
import { objectsOf, type Remover } from './remover.ts';

/** `a/b, c/d (waiting for pods that use it: …) and 3 more`: what the deletion of each waits for is in its status. */
export function named(networks: readonly Omit<Network, 'spec'>[]): string {
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
 * The times in the Lease are not used, because they are those of another clock. Without election, a ready replica leads.
 */
export async function isLed(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  clock: Clock,
): Promise<boolean> {
  const installation = await readDeployment(client, namespace);
  if (installation?.flagText('leader-elect') === 'false') return installation.readyReplicas > 0;
  const read = async () =>
    (await ifFound(client.get(LEASES, { namespace, name: PROGRAM })))?.metadata.resourceVersion;
  const first = await read();
  if (first === undefined) return false;
  const end = clock.now() + ELECTION_TIMING.leaseDurationMs;
  while (clock.now() < end) {
    await sleep(clock, ELECTION_TIMING.retryPeriodMs / 2);
    if ((await read()) !== first) return true;
  }
  return false;
}

/**
 * Deletes all Networks and waits for the operator to remove the real networks. Without an operator, and of Networks that it
 * cannot read, it removes the finalizers instead.
 */
export async function deleteNetworks(remover: Remover, hasOperator: boolean): Promise<void> {
  const { client } = remover;
  for (const network of await objectsOf(client, ANY_NETWORKS)) {
    await remover.delete(ANY_NETWORKS, network);
    if (!hasOperator || misfit(network, NETWORK, 'Network')) await release(remover, network);
  }
  await remover.untilGone(async () => {
    const rest = await objectsOf(client, ANY_NETWORKS);
    return rest.length === 0 ? '' : `the Networks ${named(rest)}`;
  });
}

/**
 * Removes the operator's finalizer from the definition of a Network and from the Network; other finalizers stay. It
 * deletes the definition, because the garbage collector leaves objects whose owner's kind no longer exists.
 */
async function release(remover: Remover, { metadata }: KubeObject): Promise<void> {
  const { client } = remover;
  for (const resource of [NETWORK_ATTACHMENT_DEFINITIONS, ANY_NETWORKS] as readonly Resource<KubeObject>[]) {
    const object = await ifFound(client.get(resource, refOf({ metadata })));
    if (object) await remover.patch(resource, object, (live) => withoutFinalizer(live, NETWORK_FINALIZER));
    const owners = object?.metadata.ownerReferences ?? [];
    if (object && owners.length > 0 && owners.every(({ uid }) => uid === metadata.uid))
      await remover.delete(resource, object);
  }
}

/** Removes the gate of pods that wait for a Network, because no operator will. Other gates stay. */
export async function liftGates(remover: Remover): Promise<void> {
  const { client, say } = remover;
  for (const pod of await objectsOf(client, PODS, { fieldSelector: 'status.phase=Pending' })) {
    if (liftingPatch(pod).length === 0) continue;
    const { namespace, name } = pod.metadata;
    await remover.patch(PODS, pod, liftingPatch);
    say(`pod ${namespace}/${name} no longer waits for its Network`);
  }
}

function liftingPatch(pod: KubeObject): readonly Operation[] {
  const index = isObject(pod) ? gateIndex(pod) : -1;
  const path = `/spec/schedulingGates/${index}`;
  if (index < 0) return [];
  return [
    { op: 'test', path: `${path}/name`, value: NETWORK_GATE },
    { op: 'remove', path },
  ];
}

/** Deletes the copies of Envoy's ConfigMap. From copies that users changed it removes only the label. */
export async function removeCopies(remover: Remover): Promise<void> {
  const { client } = remover;
  for (const copy of await objectsOf(client, CONFIG_MAPS, { labelSelector: COPY_LABEL })) {
    if (isCopy(copy)) {
      await remover.delete(CONFIG_MAPS, copy);
      continue;
    }
    const patch = { metadata: { labels: { [COPY_LABEL]: null } } };
    await ifFound(client.mergePatch(CONFIG_MAPS, refOf(copy), patch));
  }
}

/** Says what stays: a namespace that others use, and what running sidecars need. */
export async function sayWhatStays(
  { client, say }: Remover,
  namespace: string,
  statusKey: string,
  tools: readonly ToolParts[],
): Promise<void> {
  if ((await ifFound(client.get(NAMESPACES, { name: namespace }))) !== undefined)
    say(`namespace ${namespace} is kept, because it does not have the label app=envoy-initializer`);
  const pods = await objectsOf(client, POD_METADATA);
  const injected = pods.filter(({ metadata }) => metadata.annotations?.[statusKey] !== undefined);
  const keys = injected.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  if (keys.length > 0) say(`these pods keep their sidecar until they are recreated: ${listed(keys)}`);
  for (const { staying } of tools) for (const line of (await staying?.(client)) ?? []) say(line);
}
