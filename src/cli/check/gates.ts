import type { KubeClient } from '../../kube/client/client.ts';
import { NETWORK_GATE } from '../../networks/api/names.ts';
import { type JsonObject, own, ownObjects, ownString } from '../../util/json.ts';
import { lastWords } from '../last-event.ts';
import type { CheckFinding } from './check-report.ts';

/** Of gates that are not the operator's. */
const FOREIGN = 'another controller has set them, and must remove them';

/** More pods are not named. */
const MAX_PODS = 5;

/** A finding for each pod that is not scheduled because of its gates, with the reason of its last Event. */
export async function waitingAtGates(
  client: KubeClient,
  pods: readonly JsonObject[],
): Promise<readonly CheckFinding[]> {
  const gated = pods.filter((pod) => ownObjects(own(pod, 'spec'), 'schedulingGates').length > 0);
  return await Promise.all(gated.slice(0, MAX_PODS).map((pod) => gateFinding(client, pod)));
}

async function gateFinding(client: KubeClient, pod: JsonObject): Promise<CheckFinding> {
  const metadata = own(pod, 'metadata');
  const [namespace, name = ''] = [ownString(metadata, 'namespace'), ownString(metadata, 'name')];
  const gates = ownObjects(own(pod, 'spec'), 'schedulingGates').map((gate) => String(own(gate, 'name')));
  const uid = ownString(metadata, 'uid');
  const why = gates.includes(NETWORK_GATE) ? await lastWords(client, namespace, `Pod/${name}`, uid) : FOREIGN;
  const message = `pod ${name} is not scheduled before its gates are removed (${gates.join(', ')}): ${why}`;
  return { reason: 'scheduling-gated', message };
}
