/** The annotation by which a pod asks for Networks. */
export const NETWORK_ANNOTATION = 'samplecrd.k8s.io/network';

/** The scheduling gate that a pod has until every Network that it asks for is Ready. */
export const NETWORK_GATE = 'samplecrd.k8s.io/network';

/** Where Multus reads what a pod is to be attached to (multi-network specification v1.3, section 4). */
export const MULTUS_NETWORKS = 'k8s.v1.cni.cncf.io/networks';

/** Where Multus writes what a pod is attached to. */
export const MULTUS_STATUS = 'k8s.v1.cni.cncf.io/network-status';
