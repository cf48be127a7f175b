import type { KubeObject } from '../kube/object.ts';
import { narrowObject, type Resource } from '../kube/resource.ts';

/** An object of the cluster that has ranges of addresses: what is kept of it. */
export interface RangeHolder extends KubeObject {
  readonly cidrs: readonly string[];
}

/** core/v1 Node, cut down to its name and the ranges of its pods. */
export const NODES: Resource<RangeHolder> = {
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
  narrow: (value) => holder(value, 'podCIDRs'),
};

/** networking.k8s.io/v1 ServiceCIDR, of Kubernetes 1.33 and newer. */
export const SERVICE_CIDRS: Resource<RangeHolder> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  narrow: (value) => holder(value, 'cidrs'),
};

function holder(value: unknown, field: string): RangeHolder {
  const { name, uid = '', resourceVersion = '' } = narrowObject(value).metadata;
  const { spec } = value as { readonly spec?: Readonly<Record<string, unknown>> };
  const cidrs = spec?.[field];
  return { metadata: { name, uid, resourceVersion }, cidrs: Array.isArray(cidrs) ? cidrs.map(String) : [] };
}
