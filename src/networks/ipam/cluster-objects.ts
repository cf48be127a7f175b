import { ENDPOINT_SLICES, NODES } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';

/** The cached part of an object that has address ranges. */
export interface RangeHolder extends KubeObject {
  readonly cidrs: readonly string[];
}

/** The part of core/v1 Node that Networks need. */
export interface ClusterNode extends RangeHolder {
  /** Its InternalIPs. */
  readonly addresses: readonly string[];
  /** Whether its kubelet does not respond: what the node ran may still run. */
  readonly isAway: boolean;
  /** Whether new pods may not be scheduled there. */
  readonly isCordoned: boolean;
  /** Whether only pods with a toleration may be scheduled there. The taints of conditions, such as not-ready, do not count. */
  readonly isTainted: boolean;
}

export const CLUSTER_NODES: Resource<ClusterNode> = { ...NODES, decode: clusterNode };

/** networking.k8s.io/v1 ServiceCIDR, of Kubernetes 1.33 and newer. */
export const SERVICE_CIDRS: Resource<RangeHolder> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  decode: (value) => holder(value, 'cidrs'),
};

/** discovery.k8s.io/v1 EndpointSlice. Its addresses are ranges of one address. */
export const ENDPOINT_ADDRESSES: Resource<RangeHolder> = {
  ...ENDPOINT_SLICES,
  decode(value) {
    const { name, namespace = '', uid = '', resourceVersion = '' } = decodeObject(value).metadata;
    const { endpoints } = value as { readonly endpoints?: unknown };
    const cidrs = items(endpoints).flatMap(({ addresses }) =>
      Array.isArray(addresses) ? addresses.map(String) : [],
    );
    return { metadata: { name, namespace, uid, resourceVersion }, cidrs };
  },
};

function clusterNode(value: unknown): ClusterNode {
  const { spec, status } = value as {
    readonly spec?: { readonly unschedulable?: unknown; readonly taints?: unknown };
    readonly status?: { readonly addresses?: unknown; readonly conditions?: unknown };
  };
  const internal = items(status?.addresses).filter(({ type }) => type === 'InternalIP');
  return {
    ...holder(value, 'podCIDRs'),
    addresses: internal.map(({ address }) => String(address)),
    isAway: items(status?.conditions).some((each) => each.type === 'Ready' && each.status !== 'True'),
    isCordoned: spec?.unschedulable === true,
    isTainted: items(spec?.taints).some(
      ({ key, effect }) =>
        (effect === 'NoSchedule' || effect === 'NoExecute') && !String(key).startsWith('node.kubernetes.io/'),
    ),
  };
}

function items(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : [];
}

function holder(value: unknown, field: string): RangeHolder {
  const { name, uid = '', resourceVersion = '' } = decodeObject(value).metadata;
  const { spec } = value as { readonly spec?: Readonly<Record<string, unknown>> };
  const cidrs = spec?.[field];
  return { metadata: { name, uid, resourceVersion }, cidrs: Array.isArray(cidrs) ? cidrs.map(String) : [] };
}
