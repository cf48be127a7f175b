import type { Network, NetworkSpec, NetworkStatus } from '../../../src/networks/api/types.ts';

export interface NetworkOptions extends Partial<NetworkSpec> {
  readonly name?: string;
  readonly uid?: string;
  readonly createdAt?: string;
  readonly finalizers?: readonly string[];
  readonly deletedAt?: string;
  readonly status?: NetworkStatus;
}

/** A Network `default/NAME` as the API server returns it. */
export function newNetwork(options: NetworkOptions = {}): Network {
  const {
    name = 'example-network',
    uid = `uid-of-${name}`,
    createdAt = '2026-01-01T00:00:00Z',
    finalizers,
    deletedAt,
    status,
    ...spec
  } = options;
  return {
    apiVersion: 'samplecrd.k8s.io/v1',
    kind: 'Network',
    metadata: {
      name,
      namespace: 'default',
      uid,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: createdAt,
      ...(finalizers && { finalizers }),
      ...(deletedAt !== undefined && { deletionTimestamp: deletedAt }),
    },
    spec: { cidr: '192.168.0.0/16', gateway: '192.168.0.1', ...spec },
    ...(status && { status }),
  };
}
