import { isDnsLabel, isDnsSubdomain } from '../../injection/podspec/names.ts';
import { annotation } from '../../injection/podspec/pod.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { MULTUS_NETWORKS } from '../../networks/api/names.ts';
import { NETWORK_ATTACHMENT_DEFINITIONS } from '../../networks/api/resources.ts';
import { keyOfSelected, parseSelection, type Selected } from '../../networks/pods/selection.ts';
import { type JsonObject, own, ownObjects } from '../../util/json.ts';
import type { CheckFinding } from './check-report.ts';

/** A finding for each NetworkAttachmentDefinition that the annotation of Multus names, but that does not exist. */
export async function missingAttachments(
  client: KubeClient,
  pod: JsonObject,
  namespace: string,
): Promise<readonly CheckFinding[]> {
  const text = annotation(pod, MULTUS_NETWORKS);
  // A gate holds a pod until its Networks have theirs.
  if (text === undefined || ownObjects(own(pod, 'spec'), 'schedulingGates').length > 0) return [];
  const selection = parseSelection(text, namespace);
  if ('problem' in selection)
    return [{ reason: 'no-attachment', message: `the annotation ${MULTUS_NETWORKS} ${selection.problem}` }];
  const found = await Promise.all(selection.networks.map((each) => exists(client, each)));
  return selection.networks
    .filter((_, index) => found[index] === false)
    .map((each) => ({
      reason: 'no-attachment',
      message: `the annotation ${MULTUS_NETWORKS} names the NetworkAttachmentDefinition ${keyOfSelected(each)}, which does not exist, so the pod does not start: create it, or a Network of this name`,
    }));
}

/** Undefined if the user may not read it. */
async function exists(client: KubeClient, { namespace, name }: Selected): Promise<boolean | undefined> {
  if (!isDnsLabel(namespace) || !isDnsSubdomain(name)) return false;
  try {
    await client.get(NETWORK_ATTACHMENT_DEFINITIONS, { namespace, name });
    return true;
  } catch (err) {
    if (isNotFound(err)) return false;
    if (isForbidden(err)) return undefined;
    throw err;
  }
}
