import { type JsonObject, own, ownObjects, ownString } from '../../json/json.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { NETWORK_ANNOTATION } from '../../network/api/names.ts';
import { NETWORKS } from '../../network/api/resources.ts';
import { keyOfSelected, parseSelection, type Selected } from '../../network/pods/selection.ts';
import { isDnsLabel, isDnsSubdomain } from '../../podspec/names.ts';
import { annotation } from '../../podspec/pod.ts';
import { judged } from './check-network.ts';
import type { CheckFinding } from './check-report.ts';

/** What is wrong with the Networks of pods that have a node, but do not start. What holds the others is at their gate. */
export async function pendingNetworks(
  client: KubeClient,
  pods: readonly JsonObject[],
  namespace: string,
): Promise<readonly CheckFinding[]> {
  const networks = new Map<string, Selected>();
  for (const pod of pods.filter(isStuck)) {
    const selection = parseSelection(annotation(pod, NETWORK_ANNOTATION) ?? '', namespace);
    if ('networks' in selection)
      for (const each of selection.networks) networks.set(keyOfSelected(each), each);
  }
  const found = await Promise.all(Array.from(networks.values(), (each) => findingsOf(client, each)));
  return found.flat();
}

function isStuck(pod: JsonObject): boolean {
  const spec = own(pod, 'spec');
  const isGated = ownObjects(spec, 'schedulingGates').length > 0;
  return (
    !isGated &&
    ownString(spec, 'nodeName') !== undefined &&
    ownString(own(pod, 'status'), 'phase') === 'Pending'
  );
}

async function findingsOf(
  client: KubeClient,
  { namespace, name }: Selected,
): Promise<readonly CheckFinding[]> {
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return [];
  try {
    const { findings } = await judged(client, await client.get(NETWORKS, { namespace, name }));
    return findings.map(({ reason, message }) => ({
      reason,
      message: `Network ${namespace}/${name}: ${message}`,
    }));
  } catch (err) {
    if (isNotFound(err) || isForbidden(err)) return [];
    throw err;
  }
}
