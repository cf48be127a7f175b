import { annotation, MIRROR_ANNOTATION, type Pod, specField } from '../../injection/podspec/pod.ts';
import { own, ownObjects, ownString } from '../../util/json.ts';
import { type PatchOperation, PodDraft } from '../../util/patch.ts';
import { MULTUS_NETWORKS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { mergeNetworks } from './merge.ts';
import { type NetworkAccess, OPEN_ACCESS } from './network-access.ts';
import { type AttachOptions, optionProblem } from './option-problem.ts';
import { hintsFor, parseRequest } from './request.ts';
import { keyOfSelected, type Selection } from './selection.ts';

/** The decision about a new pod. */
export type Attachment =
  | { readonly outcome: 'untouched'; readonly warning?: string }
  | {
      readonly outcome: 'attached';
      readonly operations: readonly PatchOperation[];
      readonly warnings: readonly string[];
    }
  | { readonly outcome: 'refused'; readonly message: string };

/** The most Networks of a pod. Multus has no limit, but more interfaces are a mistake. */
export const MAX_NETWORKS = 32;

/**
 * Attaches a new pod to the Networks that it asks for: adds them to Multus' annotation, and adds the gate that holds
 * the pod until they are Ready. Idempotent.
 */
export function attach(pod: Pod, namespace: string, options: AttachOptions): Attachment {
  const asked = annotation(pod, NETWORK_ANNOTATION);
  if (asked === undefined) return { outcome: 'untouched' };
  if (annotation(pod, MIRROR_ANNOTATION) !== undefined) {
    const warning = `${NETWORK_ANNOTATION} does nothing for a static pod, which runs without the API server`;
    return { outcome: 'untouched', warning };
  }
  const request = parseRequest(asked, namespace, options.access);
  if ('problem' in request) return refused(`annotation ${NETWORK_ANNOTATION} ${request.problem}`);
  const { length } = request.networks;
  if (length > MAX_NETWORKS) {
    return refused(
      `annotation ${NETWORK_ANNOTATION} names ${length} Networks: write at most ${MAX_NETWORKS}`,
    );
  }
  const obstacle = obstacleOf(pod, request, options);
  if (obstacle !== undefined) return refused(obstacle);
  const present = annotation(pod, MULTUS_NETWORKS);
  const merged = mergeNetworks(request, present, namespace);
  if ('problem' in merged) return refused(`annotation ${MULTUS_NETWORKS} ${merged.problem}`);
  const wrong = optionProblem(merged.text, namespace, options);
  // Without an annotation of Multus, its text comes from ours.
  const written = present === undefined ? NETWORK_ANNOTATION : MULTUS_NETWORKS;
  if (wrong !== undefined) return refused(`annotation ${written} ${wrong}`);
  const draft = new PodDraft(pod);
  if (merged.text !== present) draft.set(['metadata', 'annotations'], MULTUS_NETWORKS, merged.text);
  if (!isBound(pod) && !isGated(pod)) draft.insert(['spec', 'schedulingGates'], { name: NETWORK_GATE });
  const warnings = hintsFor(request).map((hint) => `annotation ${NETWORK_ANNOTATION} ${hint}`);
  return { outcome: 'attached', operations: draft.operations, warnings };
}

/** Keys of the Networks that the annotation names and the pod may use; none if the annotation is invalid. */
export function networksAskedFor(
  asked: string | undefined,
  podNamespace: string,
  access: NetworkAccess,
): readonly string[] {
  // A forbidden name does not remove the others.
  const request = asked === undefined ? undefined : parseRequest(asked, podNamespace, OPEN_ACCESS);
  const keys = request && 'networks' in request ? request.networks.map(keyOfSelected) : [];
  return keys.filter((key) => access.allows(podNamespace, key));
}

/** Why the pod cannot be attached; undefined if it can. */
function obstacleOf(pod: Pod, { networks }: Selection, { stateOf }: AttachOptions): string | undefined {
  if (specField(pod, 'hostNetwork') === true) {
    return `a pod with hostNetwork cannot get an interface on a Network: remove spec.hostNetwork, or the annotation ${NETWORK_ANNOTATION}`;
  }
  for (const key of networks.map(keyOfSelected)) {
    const state = stateOf(key);
    if (state.kind === 'unattachable') return state.why;
    if (state.kind === 'waiting' && isBound(pod)) {
      return `a pod with spec.nodeName cannot wait, and ${state.why}: create it when the Network is Ready, or remove spec.nodeName`;
    }
  }
  return undefined;
}

/** A pod that names its node bypasses the scheduler, and may not have a gate. */
function isBound(pod: Pod): boolean {
  return Boolean(ownString(own(pod, 'spec'), 'nodeName'));
}

function isGated(pod: Pod): boolean {
  return ownObjects(own(pod, 'spec'), 'schedulingGates').some((gate) => own(gate, 'name') === NETWORK_GATE);
}

function refused(message: string): Attachment {
  return { outcome: 'refused', message };
}
