// Generated from crd/networks.yaml by `node hack/generate-types.ts`: do not edit.

import type { ObjectMeta } from '../../kube/api/object.ts';

export interface Network {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: NetworkSpec;
  readonly status?: NetworkStatus;
}
export interface NetworkSpec {
  readonly cidr: string;
  readonly gateway: string;
  readonly secondary?: {
    readonly cidr: string;
    readonly gateway: string;
  };
  readonly exclude?: readonly string[];
  readonly provider?: 'multus' | 'neutron';
  readonly mtu?: number;
  readonly deletionPolicy?: 'Delete' | 'Retain';
}
export interface NetworkStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly cidr?: string;
  readonly gateway?: string;
  readonly mtu?: number;
  readonly secondary?: {
    readonly cidr: string;
    readonly gateway: string;
  };
  readonly vni?: number;
  readonly nodes?: readonly NetworkNode[];
  readonly provider?: string;
  readonly externalID?: string;
  readonly capacity?: NetworkCapacity;
  readonly attachedPods?: number;
}
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}
export interface NetworkNode {
  readonly name: string;
  readonly address: string;
}
export interface NetworkCapacity {
  readonly total?: number;
  readonly allocated?: number;
}
