import { PROGRAM } from '../../json/own-names.ts';

/** The API group of Networks. Our own keys on other objects begin with it, too. */
export const NETWORK_GROUP = 'samplecrd.k8s.io';

/** The operator in managedFields, in Events and in `app.kubernetes.io/managed-by`. */
export const FIELD_MANAGER = PROGRAM;
/** The node agents in managedFields. */
export const NODE_AGENT_FIELD_MANAGER = 'envoy-initializer-node-agent';

/** Kept on a Network until its real network is gone. */
export const NETWORK_FINALIZER = 'samplecrd.k8s.io/network-cleanup';

/** The annotation by which a pod asks for Networks. */
export const NETWORK_ANNOTATION = 'samplecrd.k8s.io/network';
/** The scheduling gate that a pod has until every Network that it asks for is Ready. */
export const NETWORK_GATE = 'samplecrd.k8s.io/network';
/** Where Multus reads what a pod is to be attached to (multi-network specification v1.3, section 4). */
export const MULTUS_NETWORKS = 'k8s.v1.cni.cncf.io/networks';
/** Where Multus writes what a pod is attached to. */
export const MULTUS_STATUS = 'k8s.v1.cni.cncf.io/network-status';

/** The label of a definition with the name of its Network. */
export const NETWORK_LABEL = 'samplecrd.k8s.io/network';
/** The annotation of a definition with the UID of its Network. It is ours even without its owner reference. */
export const UID_ANNOTATION = 'samplecrd.k8s.io/network-uid';
/** The annotation of a definition with the shape that we gave it. Events need it: a user may edit the definition. */
export const SHAPE_ANNOTATION = 'samplecrd.k8s.io/network-shape';

/** The IPAM plugin that the node agent puts onto its node: host-local, with the node's own slice of the range. */
export const SLICE_IPAM = 'envoy-initializer-ipam';
/** The ConfigMap in the operator's namespace that has the table of nodes. */
export const TABLE_NAME = 'envoy-initializer-nodes';
/** The label of the ConfigMaps in which node agents report. Each has the name of its node. */
export const REPORT_LABEL = 'samplecrd.k8s.io/node-report';
