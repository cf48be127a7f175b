import { isDnsLabel, isDnsSubdomain } from '../../injection/podspec/names.ts';
import { annotation } from '../../injection/podspec/pod.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import { splitKey } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { NETWORK_ANNOTATION } from '../../networks/api/names.ts';
import { NETWORKS } from '../../networks/api/resources.ts';
import { OPEN_ACCESS } from '../../networks/pods/network-access.ts';
import { networkPods } from '../../networks/pods/network-pods.ts';
import { keyOfSelected, parseSelection, type Selected } from '../../networks/pods/selection.ts';
import { type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import { judged } from './check-network.ts';
import type { CheckFinding } from './check-report.ts';

const ANY_PODS = networkPods(OPEN_ACCESS);

/**
 * What is wrong with the Networks of pods that have a node, but do not start, or run without their interface. What holds
 * the others is at their gate.
 */
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
  const without = pods.flatMap((pod) => withoutInterface(pod));
  for (const { selected } of without) networks.set(keyOfSelected(selected), selected);
  const found = await Promise.all(
    Array.from(networks, async ([key, each]) => {
      const findings = await findingsOf(client, each);
      if (findings === undefined) return [];
      const names = without.flatMap(({ name, selected }) => (keyOfSelected(selected) === key ? [name] : []));
      return [...names.map((name) => missingInterface(name, key)), ...findings];
    }),
  );
  return found.flat();
}

/** The Networks that a running pod asks for, and Multus did not attach it to. */
function withoutInterface(
  pod: JsonObject,
): readonly { readonly name: string; readonly selected: Selected }[] {
  const { metadata, unattached = [] } = ANY_PODS.decode(pod);
  return unattached.map((key) => {
    const { namespace = '', name } = splitKey(key);
    return { name: metadata.name, selected: { namespace, name, element: { name } } };
  });
}

function missingInterface(pod: string, network: string): CheckFinding {
  const message = `pod ${pod} runs without its interface on Network ${network}, because Multus did not attach it: recreate it when Multus is on its node`;
  return { reason: 'interface-missing', message };
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

/** Undefined if it does not exist. */
async function findingsOf(
  client: KubeClient,
  { namespace, name }: Selected,
): Promise<readonly CheckFinding[] | undefined> {
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return undefined;
  try {
    const { findings } = await judged(client, await client.get(NETWORKS, { namespace, name }));
    return findings.map(({ reason, message }) => ({
      reason,
      message: `Network ${namespace}/${name}: ${message}`,
    }));
  } catch (err) {
    if (isForbidden(err)) return [];
    if (isNotFound(err)) return undefined;
    throw err;
  }
}
