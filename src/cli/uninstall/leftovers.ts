import type { Operation } from 'fast-json-patch';
import { COPY_LABEL, isCopy, type ManagedConfigMap } from '../../injection/webhook/copies.ts';
import { isNotFound } from '../../kube/api/api-error.ts';
import { CONFIG_MAPS, PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { NETWORK_GATE } from '../../networks/api/names.ts';
import { isObject, own, ownObjects } from '../../util/json.ts';
import type { ToolParts } from '../add-on.ts';
import { listed, metadataOf, NAMESPACE, objectOf, objectsOf } from './objects.ts';
import type { Remover } from './remover.ts';

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
  const spec = isObject(pod) ? own(pod, 'spec') : undefined;
  const gates = ownObjects(spec, 'schedulingGates').map((gate) => own(gate, 'name'));
  const path = `/spec/schedulingGates/${gates.indexOf(NETWORK_GATE)}`;
  if (!gates.includes(NETWORK_GATE)) return [];
  return [
    { op: 'test', path: `${path}/name`, value: NETWORK_GATE },
    { op: 'remove', path },
  ];
}

/** Deletes the copies of Envoy's ConfigMap. From copies that users changed it removes only the label. */
export async function removeCopies(remover: Remover): Promise<void> {
  const { client } = remover;
  for (const copy of await objectsOf(client, CONFIG_MAPS, { labelSelector: COPY_LABEL })) {
    if (isCopy(copy as ManagedConfigMap)) {
      await remover.delete(CONFIG_MAPS, copy);
      continue;
    }
    const { namespace, name } = copy.metadata;
    const patch = { metadata: { labels: { [COPY_LABEL]: null } } };
    await client.mergePatch(CONFIG_MAPS, { namespace, name }, patch).catch(unlessGone);
  }
}

/** Says what stays: a namespace that others use, and what running sidecars need. */
export async function sayWhatStays(
  { client, say }: Remover,
  namespace: string,
  statusKey: string,
  tools: readonly ToolParts[],
): Promise<void> {
  if ((await objectOf(client, NAMESPACE, { name: namespace })) !== undefined)
    say(`the namespace ${namespace} stays, because it does not have the label app=envoy-initializer`);
  const pods = await objectsOf(client, metadataOf('v1', 'Pod', 'pods'));
  const injected = pods.filter(({ metadata }) => metadata.annotations?.[statusKey] !== undefined);
  const keys = injected.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  if (keys.length > 0) say(`these pods keep their sidecar until they are recreated: ${listed(keys)}`);
  for (const { staying } of tools) for (const line of (await staying?.(client)) ?? []) say(line);
}

function unlessGone(err: unknown): void {
  if (!isNotFound(err)) throw err;
}
