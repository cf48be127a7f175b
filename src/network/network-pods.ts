import type { KubeObject, ObjectKey } from '../kube/object.ts';
import { narrowObject, type Resource } from '../kube/resource.ts';
import { networksAskedFor } from './attachment/attach.ts';
import { MULTUS_NETWORKS, MULTUS_STATUS, NETWORK_ANNOTATION, NETWORK_GATE } from './attachment/keys.ts';
import { type AttachedTo, parseNetworkStatus } from './attachment/network-status.ts';

/** What is kept of a core/v1 Pod: the few things by which it may matter to a Network. */
export interface NetworkPod extends KubeObject {
  /** Where it runs, or is to run. */
  readonly nodeName?: string;
  /** Names of the scheduling gates, where ours is among them; else none. */
  readonly gates: readonly string[];
  /** What Multus has attached it to, its first interface apart. */
  readonly attachedTo: readonly AttachedTo[];
}

/** Pods, cut down to what Networks have to do with: a cache of them stays small. */
export const NETWORK_PODS: Resource<NetworkPod> = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
  narrow(value) {
    const { metadata } = narrowObject(value);
    const { name, namespace = '', uid = '', resourceVersion = '', deletionTimestamp } = metadata;
    const gates = gatesOf(value);
    const isGated = gates.includes(NETWORK_GATE);
    const nodeName = field(field(value, 'spec'), 'nodeName');
    const kept = isGated ? [NETWORK_ANNOTATION, MULTUS_NETWORKS] : [NETWORK_ANNOTATION];
    return {
      metadata: {
        ...{ name, namespace, uid, resourceVersion },
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        annotations: Object.fromEntries(
          Object.entries(metadata.annotations ?? {}).filter(([key]) => kept.includes(key)),
        ),
      },
      ...(typeof nodeName === 'string' && { nodeName }),
      gates: isGated ? gates : [],
      attachedTo: parseNetworkStatus(metadata.annotations?.[MULTUS_STATUS], namespace),
    };
  },
};

/** Whether it has anything to do with Networks: of the others a cache keeps nothing. */
export function matters(pod: NetworkPod): boolean {
  return isGated(pod) || askedFor(pod) !== undefined || pod.attachedTo.length > 0;
}

/** Whether it still waits for its Networks. */
export function isGated({ gates }: NetworkPod): boolean {
  return gates.length > 0;
}

/** Our annotation, as it is. */
export function askedFor({ metadata }: NetworkPod): string | undefined {
  return metadata.annotations?.[NETWORK_ANNOTATION];
}

/** Networks that the pod names, or is attached to. */
export function networksOf(pod: NetworkPod): readonly ObjectKey[] {
  const asked = networksAskedFor(askedFor(pod), pod.metadata.namespace ?? '');
  return [...new Set([...asked, ...pod.attachedTo.map(({ network }) => network)])];
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
