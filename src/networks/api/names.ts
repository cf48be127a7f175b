import { PROGRAM } from '../../util/identity.ts';

/** The API group of Networks. The operator's keys on other objects also begin with it. */
export const NETWORK_GROUP = 'samplecrd.k8s.io';

/** The operator in managedFields, in Events and in `app.kubernetes.io/managed-by`. */
export const FIELD_MANAGER = PROGRAM;
/** The node agents in managedFields. */
export const NODE_AGENT_FIELD_MANAGER = 'envoy-initializer-node-agent';

/** Holds a Network until its real network is deleted. */
export const NETWORK_FINALIZER = 'samplecrd.k8s.io/network-cleanup';

/** The annotation with which a pod asks for Networks. */
export const NETWORK_ANNOTATION = 'samplecrd.k8s.io/network';
/** The annotation of a Service that selects pods on the Network of its other annotation, by their labels. */
export const SELECTOR_ANNOTATION = 'samplecrd.k8s.io/selector';
/** The scheduling gate that a pod has until every Network that it asks for is Ready. */
export const NETWORK_GATE = 'samplecrd.k8s.io/network';
/** The annotation that tells Multus the networks of a pod (multi-network specification v1.3, section 4). */
export const MULTUS_NETWORKS = 'k8s.v1.cni.cncf.io/networks';
/** The annotation in which Multus reports the networks of a pod. */
export const MULTUS_STATUS = 'k8s.v1.cni.cncf.io/network-status';

/** The label of a definition with the name of its Network. */
export const NETWORK_LABEL = 'samplecrd.k8s.io/network';
/** The annotation of a definition with the UID of its Network. It proves ownership without an owner reference. */
export const UID_ANNOTATION = 'samplecrd.k8s.io/network-uid';

/** The IPAM plugin that the node agent installs on its node: static, as soon as the node is on the Network. */
export const NODE_IPAM = 'envoy-initializer-ipam';
/** The plugin that the node agent installs on its node: ovs, with the port in Neutron of the pod. */
export const NODE_OVS = 'envoy-initializer-ovs';
/** The key of a network in Multus' annotation with the ID of a Neutron port. */
export const PORT_KEY = 'port';
/** The key of a network in Multus' annotation with the Neutron security group IDs. */
export const SECURITY_GROUPS_KEY = 'security-groups';
/** The label of the ConfigMaps in which node agents report. Each has the name of its node. */
export const REPORT_LABEL = 'samplecrd.k8s.io/node-report';

/** How the hardware addresses of gateways begin. Each node has them, so no pod may. */
export const GATEWAY_MAC = '02:6e:77:';
