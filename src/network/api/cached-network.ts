import { identityOf } from '../../kube/api/object.ts';
import type { Network } from './types.ts';

/**
 * What a cache keeps of a Network: nothing else of it is read. Labels and annotations of one may have hundreds of kilobytes.
 * Finalizers are all kept, since one is added by writing all.
 */
export function cachedNetwork(network: Network): Network {
  const { generation, creationTimestamp, deletionTimestamp, finalizers } = network.metadata;
  return {
    metadata: {
      ...identityOf(network),
      ...(generation !== undefined && { generation }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers !== undefined && { finalizers }),
    },
    spec: network.spec,
    ...(network.status !== undefined && { status: network.status }),
  };
}
