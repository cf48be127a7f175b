import { own, ownObjects, ownString } from '../../json/json.ts';
import { type PatchOperation, PodDraft } from '../../json/patch.ts';
import { annotation, MIRROR_ANNOTATION, type Pod, specField } from '../../podspec/pod.ts';
import { MULTUS_NETWORKS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { mergeNetworks } from './merge.ts';
import { type NetworkAccess, OPEN_ACCESS } from './network-access.ts';
import type { NetworkState } from './network-state.ts';
import { parseRequest } from './request.ts';
import { keyOfSelected, type Selection } from './selection.ts';

/** What becomes of a pod that is created. */
export type Attachment =
  | { readonly outcome: 'untouched'; readonly warning?: string }
  | { readonly outcome: 'attached'; readonly operations: readonly PatchOperation[] }
  | { readonly outcome: 'refused'; readonly message: string };

export interface AttachOptions {
  readonly access: NetworkAccess;
  /** How the Network of a key, `namespace/name`, is just now. */
  readonly stateOf: (key: string) => NetworkState;
}

/** How many Networks a pod may ask for. Multus has no bound; a pod with more interfaces is a mistake. */
export const MAX_NETWORKS = 32;

/**
 * Attaches a pod that is being created to the Networks that it asks for: adds them to Multus' annotation, and the gate
 * that holds the pod back until they are Ready. Doing so twice is doing so once.
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
  const draft = new PodDraft(pod);
  if (merged.text !== present) draft.set(['metadata', 'annotations'], MULTUS_NETWORKS, merged.text);
  if (!isBound(pod) && !isGated(pod)) draft.insert(['spec', 'schedulingGates'], { name: NETWORK_GATE });
  return { outcome: 'attached', operations: draft.operations };
}

/** Networks that the annotation of a pod names and the pod may use, as keys; none where it cannot be read. */
export function networksAskedFor(
  asked: string | undefined,
  podNamespace: string,
  access: NetworkAccess,
): readonly string[] {
  // A name that the pod may not use takes away none of the others.
  const request = asked === undefined ? undefined : parseRequest(asked, podNamespace, OPEN_ACCESS);
  const keys = request && 'networks' in request ? request.networks.map(keyOfSelected) : [];
  return keys.filter((key) => access.allows(podNamespace, key));
}

/** Why the pod cannot be attached at all. */
function obstacleOf(pod: Pod, { networks }: Selection, { stateOf }: AttachOptions): string | undefined {
  if (specField(pod, 'hostNetwork') === true) {
    return `a pod with hostNetwork has its node's interfaces and gets none on a Network: leave out spec.hostNetwork, or the annotation ${NETWORK_ANNOTATION}`;
  }
  for (const key of networks.map(keyOfSelected)) {
    const state = stateOf(key);
    if (state.kind === 'unattachable') return state.why;
    if (state.kind === 'waiting' && isBound(pod)) {
      return `the pod names its node, so that it cannot wait, and ${state.why}: create it when the Network is Ready, or leave out spec.nodeName`;
    }
  }
  return undefined;
}

/** A pod that names its node is never scheduled, and may have no gate. */
function isBound(pod: Pod): boolean {
  return Boolean(ownString(own(pod, 'spec'), 'nodeName'));
}

function isGated(pod: Pod): boolean {
  return ownObjects(own(pod, 'spec'), 'schedulingGates').some((gate) => own(gate, 'name') === NETWORK_GATE);
}

function refused(message: string): Attachment {
  return { outcome: 'refused', message };
}
