import { PODS } from '../../kube/api/core-resources.ts';
import type { KubeObject, ObjectKey } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { MULTUS_NETWORKS, MULTUS_STATUS, NETWORK_ANNOTATION, NETWORK_GATE } from '../api/names.ts';
import { networksAskedFor } from './attach.ts';
import type { NetworkAccess } from './network-access.ts';
import { type AttachedTo, isNetworkKey, parseNetworkStatus } from './network-status.ts';
import { keptSelection, keyOfSelected, type Overlong, parseSelection } from './selection.ts';

/** What is kept of a core/v1 Pod: the few things by which it may matter to a Network. */
export interface NetworkPod extends KubeObject {
  /** Where it runs, or is to run. */
  readonly nodeName?: string;
  /** The place of our scheduling gate among the pod's; undefined where it has none of ours. */
  readonly gate?: number;
  /** Of a gated pod: the annotations by which it is decided whether the gate is lifted, as they are. */
  readonly selections?: Selections;
  /** Networks that it names, in our annotation or in Multus' own, and may use. */
  readonly asksFor: readonly ObjectKey[];
  /** What Multus has attached it to, its first interface and what it may not use apart. */
  readonly attachedTo: readonly AttachedTo[];
}

/** What a pod asks for, in our annotation and in Multus' own. */
interface Selections {
  readonly asked?: string | Overlong;
  readonly told?: string | Overlong;
}

/**
 * Pods, cut down to what Networks have to do with: a cache of them stays small. Anybody may write annotations, so that a
 * Network counts only where pods of that namespace may use it.
 */
export function networkPods(access: NetworkAccess): Resource<NetworkPod> {
  return { ...PODS, decode: (value) => networkPod(value, access) };
}

function networkPod(value: unknown, access: NetworkAccess): NetworkPod {
  const { metadata } = decodeObject(value);
  const { name, namespace = '', uid = '', resourceVersion = '', deletionTimestamp, annotations } = metadata;
  const gate = gateOf(value);
  const nodeName = field(field(value, 'spec'), 'nodeName');
  const isAllowed = (network: ObjectKey) => access.allows(namespace, network);
  const asked = networksAskedFor(annotations?.[NETWORK_ANNOTATION], namespace, access);
  const told = namedToMultus(annotations?.[MULTUS_NETWORKS], namespace).filter(isAllowed);
  const attachedTo = parseNetworkStatus(annotations?.[MULTUS_STATUS], namespace);
  return {
    metadata: {
      ...{ name, namespace, uid, resourceVersion },
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    ...(gate >= 0 && { gate, selections: selectionsOf(annotations) }),
    ...(typeof nodeName === 'string' && { nodeName }),
    asksFor: [...new Set([...asked, ...told])],
    attachedTo: attachedTo.filter(({ network }) => isAllowed(network)),
  };
}

function namedToMultus(text: string | undefined, podNamespace: string): readonly ObjectKey[] {
  const selection = text === undefined ? undefined : parseSelection(text, podNamespace);
  return selection && 'networks' in selection
    ? selection.networks.map(keyOfSelected).filter(isNetworkKey)
    : [];
}

function selectionsOf(annotations: KubeObject['metadata']['annotations'] = {}): Selections {
  const { [NETWORK_ANNOTATION]: asked, [MULTUS_NETWORKS]: told } = annotations;
  return {
    ...(asked !== undefined && { asked: keptSelection(asked) }),
    ...(told !== undefined && { told: keptSelection(told) }),
  };
}

/** Whether it has anything to do with Networks: of the others a cache keeps nothing. */
export function isRelevant(pod: NetworkPod): boolean {
  return isGated(pod) || networksOf(pod).length > 0;
}

/** Whether it still waits for its Networks. */
export function isGated({ gate }: NetworkPod): boolean {
  return gate !== undefined;
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

function gateOf(pod: unknown): number {
  const gates = field(field(pod, 'spec'), 'schedulingGates');
  return Array.isArray(gates) ? gates.findIndex((gate) => field(gate, 'name') === NETWORK_GATE) : -1;
}

function field(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, key) : undefined;
}
