import type { KubeObject } from '../api/object.ts';
import { decodeObject, type Resource } from '../api/resource.ts';
import type { KubeClient } from '../client/client.ts';

/** coordination.k8s.io/v1 Lease. Times are MicroTime strings. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

export const LEASES: Resource<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  decode: decodeObject,
};

export type LeaseClient = Pick<KubeClient, 'get' | 'create' | 'mergePatch'>;

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}
