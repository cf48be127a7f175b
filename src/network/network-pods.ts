import { PODS } from '../kube/core-resources.ts';
import type { KubeObject, ObjectKey } from '../kube/object.ts';
import { narrowObject, type Resource } from '../kube/resource.ts';
import { networksAskedFor } from './attachment/attach.ts';
import { MULTUS_NETWORKS, MULTUS_STATUS, NETWORK_ANNOTATION, NETWORK_GATE } from './attachment/keys.ts';
import { type AttachedTo, parseNetworkStatus } from './attachment/network-status.ts';
import { keyOfSelected, parseSelection } from './attachment/selection.ts';
import { mayUse } from './attachment/sharing.ts';

/** What is kept of a core/v1 Pod: the few things by which it may matter to a Network. */
export interface NetworkPod extends KubeObject {
  /** Where it runs, or is to run. */
  readonly nodeName?: string;
  /** Names of the scheduling gates, where ours is among them; else none. */
  readonly gates: readonly string[];
  /** Networks that it names, in our annotation or in Multus' own, and may use. */
  readonly asksFor: readonly ObjectKey[];
  /** What Multus has attached it to, its first interface and what it may not use apart. */
  readonly attachedTo: readonly AttachedTo[];
}

/**
 * Pods, cut down to what Networks have to do with: a cache of them stays small. Anybody may write annotations, so that a
 * Network counts only where pods of that namespace may use it.
 */
export function networkPods(sharedNamespaces: readonly string[]): Resource<NetworkPod> {
  return { ...PODS, narrow: (value) => networkPod(value, sharedNamespaces) };
}

function networkPod(value: unknown, sharedNamespaces: readonly string[]): NetworkPod {
  const { metadata } = narrowObject(value);
  const { name, namespace = '', uid = '', resourceVersion = '', deletionTimestamp, annotations } = metadata;
  const gates = gatesOf(value);
  const isGated = gates.includes(NETWORK_GATE);
  const nodeName = field(field(value, 'spec'), 'nodeName');
  const isAllowed = (network: ObjectKey) => mayUse(network, namespace, sharedNamespaces);
  const asked = networksAskedFor(annotations?.[NETWORK_ANNOTATION], namespace, sharedNamespaces);
  const told = namedToMultus(annotations?.[MULTUS_NETWORKS], namespace).filter(isAllowed);
  const attachedTo = parseNetworkStatus(annotations?.[MULTUS_STATUS], namespace);
  return {
    metadata: {
      ...{ name, namespace, uid, resourceVersion },
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(isGated && { annotations: gateAnnotations(annotations) }),
    },
    ...(typeof nodeName === 'string' && { nodeName }),
    gates: isGated ? gates : [],
    asksFor: [...new Set([...asked, ...told])],
    attachedTo: attachedTo.filter(({ network }) => isAllowed(network)),
  };
}

function namedToMultus(text: string | undefined, podNamespace: string): readonly ObjectKey[] {
  const selection = text === undefined ? undefined : parseSelection(text, podNamespace);
  return selection && 'networks' in selection ? selection.networks.map(keyOfSelected) : [];
}

/** By which it is decided whether a gate is lifted. */
function gateAnnotations(annotations: KubeObject['metadata']['annotations'] = {}) {
  const kept = [NETWORK_ANNOTATION, MULTUS_NETWORKS];
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => kept.includes(key)));
}

/** Whether it has anything to do with Networks: of the others a cache keeps nothing. */
export function matters(pod: NetworkPod): boolean {
  return isGated(pod) || networksOf(pod).length > 0;
}

/** Whether it still waits for its Networks. */
export function isGated({ gates }: NetworkPod): boolean {
  return gates.length > 0;
}

/** Our annotation, as it is, of a pod that is gated. */
export function askedFor({ metadata }: NetworkPod): string | undefined {
  return metadata.annotations?.[NETWORK_ANNOTATION];
}

/** Networks that the pod names, or is attached to. */
export function networksOf({ asksFor, attachedTo }: NetworkPod): readonly ObjectKey[] {
  return [...new Set([...asksFor, ...attachedTo.map(({ network }) => network)])];
}

/**
 * For caches: `user` finds the pods that use the Network of a key, `gated` those that wait for it, `node` those that are
 * on a node.
 */
export const POD_INDEXERS = {
  user: (pod: NetworkPod) => (isGated(pod) ? [] : networksOf(pod)),
  gated: (pod: NetworkPod) => (isGated(pod) ? networksOf(pod) : []),
  node: ({ nodeName }: NetworkPod) => (nodeName === undefined ? [] : [nodeName]),
};

function gatesOf(pod: unknown): readonly string[] {
  const spec = field(pod, 'spec');
  const gates = field(spec, 'schedulingGates');
  return Array.isArray(gates) ? gates.map((gate) => String(field(gate, 'name'))) : [];
}

function field(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, key) : undefined;
}
