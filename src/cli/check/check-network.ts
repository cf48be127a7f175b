import { annotation } from '../../injection/podspec/pod.ts';
import type { PodSite } from '../../injection/podspec/workload.ts';
import { ApiError, isNotFound } from '../../kube/api/api-error.ts';
import { PODS } from '../../kube/api/core-resources.ts';
import type { ObjectMeta } from '../../kube/api/object.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { REQUEST_REFUSED } from '../../kube/controller/refusals.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { conditionOf } from '../../networks/api/conditions.ts';
import { NETWORK_ANNOTATION } from '../../networks/api/names.ts';
import { NETWORKS } from '../../networks/api/resources.ts';
import type { Condition, Network } from '../../networks/api/types.ts';
import { keyOfSelected, parseSelection } from '../../networks/pods/selection.ts';
import { isObject, type JsonObject, type JsonValue, own, ownString } from '../../util/json.ts';
import { resembles } from '../../util/suggest.ts';
import { CALLED_AS } from '../io/terminal.ts';
import { lastEvent } from '../last-event.ts';
import type { CheckFinding, ObjectReport } from './check-report.ts';
import { waitingAtGates } from './existing-pods.ts';

const NOT_RECONCILED = 'not-reconciled';

/** Says what a Network is, what is wrong with it, and which pods wait for it. */
export async function checkNetwork(
  client: KubeClient,
  namespace: string,
  name: string,
): Promise<ObjectReport> {
  const network = await client.get(NETWORKS, { namespace, name }).catch((cause: unknown) => {
    if (cause instanceof TypeError)
      throw new UsageError(`cannot read network/${name} (${cause.message}): correct its spec, or delete it`);
    if (!isNotFound(cause)) throw cause;
    // Without the CustomResourceDefinition, the answer names no kind.
    const isInstalled = cause instanceof ApiError && cause.kind !== '';
    throw new UsageError(
      isInstalled
        ? `network/${name} does not exist in namespace ${namespace}`
        : 'the cluster does not serve Networks: install the operator',
      { cause },
    );
  });
  const pods = (await client.list(PODS, {})).items
    .filter(isObject)
    .filter((pod) => isUser(pod, namespace, name));
  const waiting = await waitingAtGates(client, pods);
  const { because, findings } = await judged(client, network);
  return {
    object: `network/${name}`,
    namespace,
    because: [...because, `${pods.length === 1 ? '1 pod names' : `${pods.length} pods name`} it`],
    findings: [...findings, ...waiting],
  };
}

/** What its status says, and what the API server refuses if that does not get further. */
export async function judged(
  client: KubeClient,
  network: Network,
): Promise<Pick<ObjectReport, 'because' | 'findings'>> {
  const judgement = judgeNetwork(network);
  if (!judgement.findings.some(({ reason }) => reason === NOT_RECONCILED)) return judgement;
  const { namespace, name } = network.metadata;
  const of = `regarding.kind=Network,regarding.name=${name},reason=${REQUEST_REFUSED}`;
  const refused = await lastEvent(client, namespace, of);
  if (!refused) return judgement;
  const finding = { reason: refused.reason, message: refused.note };
  return { ...judgement, findings: [...judgement.findings, finding] };
}

function isUser(pod: JsonObject, namespace: string, name: string): boolean {
  const text = annotation(pod, NETWORK_ANNOTATION);
  if (text === undefined) return false;
  const selection = parseSelection(text, ownString(own(pod, 'metadata'), 'namespace') ?? '');
  return (
    'networks' in selection &&
    selection.networks.some((each) => keyOfSelected(each) === `${namespace}/${name}`)
  );
}

/** What to do about a condition, by its reason; those of ranges say it themselves. */
const ADVICE: Readonly<Record<string, string>> = {
  InUse: 'delete what uses it',
  Invalid: 'correct the spec; if the CRD is old, update it',
  NoAgent: `see ${CALLED_AS} status`,
  NoMultus: "install Multus as these nodes' first CNI configuration, and recreate the pods",
  NodeFailed: 'read the logs of the node agents on these nodes',
  ReconcileFailed: 'the operator is retrying: see its log',
  Terminating: 'remove the finalizers of the old NetworkAttachmentDefinition',
};

/** Conditions that are False if something is wrong. */
const MUST_HOLD = ['Accepted', 'Ready', 'NodesReady'] as const;

/** What the status of a Network says. */
export function judgeNetwork({
  metadata,
  spec,
  status = {},
}: Network): Pick<ObjectReport, 'because' | 'findings'> {
  const { conditions, observedGeneration, capacity, nodes = [] } = status;
  const ready = conditionOf(conditions, 'Ready');
  const progressing = conditionOf(conditions, 'Progressing');
  const failed = MUST_HOLD.flatMap((type) => conditionOf(conditions, type) ?? []).filter(
    (each) => each.status !== 'True',
  );
  const moving = progressing?.status === 'True' ? [progressing] : [];
  const findings = [...failed, ...moving].map(toFinding);
  const addresses =
    capacity?.total === undefined ? '' : `, ${capacity.allocated ?? 0} of ${capacity.total} addresses in use`;
  const provider = status.provider ?? spec.provider ?? 'the default provider';
  return {
    because: [
      `${status.cidr ?? spec.cidr} (${provider})${addresses}`,
      ...(nodes.length > 0 ? [`on the nodes ${nodes.map(({ name }) => name).join(', ')}`] : []),
      ...(ready?.status === 'True' && findings.length === 0 ? ['new pods get an interface on it'] : []),
    ],
    findings: [
      ...behind(ready, observedGeneration, metadata.generation),
      ...(moving.length === 0 ? going(metadata) : []),
      // Ready repeats the reason of another condition.
      ...findings.filter(({ message }, i) => findings.findIndex((other) => other.message === message) === i),
    ],
  };
}

function toFinding({ reason, message }: Condition): CheckFinding {
  const advice = ADVICE[reason];
  return { reason, message: advice === undefined ? message : `${message}: ${advice}` };
}

/** The operator has not seen the Network, or not its last change. */
function behind(
  ready: Condition | undefined,
  observed: number | undefined,
  generation: number | undefined,
): readonly CheckFinding[] {
  if (ready !== undefined && (observed === undefined || generation === undefined || observed >= generation))
    return [];
  const what =
    ready === undefined ? 'no operator has reconciled it' : 'the operator has not reconciled the last change';
  return [{ reason: NOT_RECONCILED, message: `${what}: see ${CALLED_AS} status` }];
}

/** Nothing is said about what its deletion waits for. */
function going({ deletionTimestamp, finalizers = [] }: ObjectMeta): readonly CheckFinding[] {
  if (deletionTimestamp === undefined) return [];
  const message = `it is being deleted, and still has the finalizers ${finalizers.join(', ')}`;
  return [{ reason: NOT_RECONCILED, message }];
}

const PLACES = ['labels', 'annotations'] as const;
type Place = (typeof PLACES)[number];

/** Failed attempts of a pod to ask for Networks, one sentence each: such a pod starts without them. */
export function* networkMistakes({ object, pod }: PodSite): Generator<string> {
  const key = NETWORK_ANNOTATION;
  if (has(pod, 'annotations')) return;
  if (has(pod, 'labels')) {
    yield `${key} is in the labels of the pod, where it has no effect: move it to the annotations`;
    return;
  }
  const place = PLACES.find((each) => has(object, each));
  if (place !== undefined) {
    const kind = ownString(object, 'kind') ?? 'object';
    yield `${key} is in the ${place} of the ${kind} itself, which its pods do not inherit: move it to the annotations of its pod template`;
    return;
  }
  for (const each of PLACES) {
    const values = entriesOf(pod, each);
    const written = isObject(values) ? Object.keys(values).filter((found) => resembles(found, key)) : [];
    for (const found of written)
      yield `${found} in the ${each} of the pod has no effect: did you mean the annotation ${key}?`;
  }
}

function entriesOf(holder: JsonValue, place: Place): JsonValue | undefined {
  return own(own(holder, 'metadata'), place);
}

function has(holder: JsonValue, place: Place): boolean {
  return own(entriesOf(holder, place), NETWORK_ANNOTATION) !== undefined;
}
