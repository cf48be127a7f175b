import { identityOf, type KubeObject, type ObjectKey } from '../../kube/api/object.ts';
import { decodeObject, type Resource } from '../../kube/api/resource.ts';
import { isArray, isObject, type JsonValue, own, ownString } from '../../util/json.ts';
import type { NetworkAccess } from '../pods/network-access.ts';
import { keptIps } from '../pods/selection.ts';

/** The cached part of an IPAMClaim: addresses that outlive the pods that use them, one after the other. */
export interface IpamClaim extends KubeObject {
  /** The key of its Network. */
  readonly network: ObjectKey;
  readonly ips: readonly string[];
  /** The name of the last pod that used it. */
  readonly ownerPod?: string;
}

/** k8s.cni.cncf.io/v1alpha1 IPAMClaim (Network Plumbing Working Group, ipamclaims). */
export const IPAM_CLAIMS: Resource<IpamClaim> = {
  group: 'k8s.cni.cncf.io',
  version: 'v1alpha1',
  kind: 'IPAMClaim',
  plural: 'ipamclaims',
  namespaced: true,
  decode(value) {
    const object = decodeObject(value);
    const json = isObject(value) ? value : {};
    const network = ownString(own(json, 'spec'), 'network') ?? '';
    const status = own(json, 'status');
    const ownerPod = ownerIn(own(status, 'ownerPod'));
    return {
      metadata: identityOf(object),
      network: network.includes('/') ? network : `${object.metadata.namespace}/${network}`,
      ips: keptIps(own(status, 'ips')),
      ...(ownerPod !== undefined && { ownerPod }),
    };
  },
};

/** Whether pods of its namespace may use its Network. Users can write any claim, and others hold no addresses. */
export function isAllowed({ metadata, network }: IpamClaim, access: NetworkAccess): boolean {
  return access.allows(metadata.namespace ?? '', network);
}

/** Finds the claims of a Network in a cache. */
export const CLAIM_INDEXERS = { network: ({ network }: IpamClaim) => [network] };

function ownerIn(owner: JsonValue | undefined): string | undefined {
  return isArray(owner) ? undefined : ownString(owner, 'name');
}
