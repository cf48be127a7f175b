/** The name in the cluster of the node that it is started with. */
export const NODE_NAME = 'node';

/** Ranges of pods and of Services; they exist in the nodes' own network only. */
export const POD_RANGE = '10.244.0.0/16';
export const SERVICE_RANGE = '10.96.0.0/16';

/** Of the machines' own addresses, as `machine.sh` chooses them. */
export const MACHINE_RANGE = '198.51.100.0/24';

/** The range of the pods of one node: that which the cluster is started with is 0. */
export function podRange(node: number): string {
  return `10.244.${node}.0/24`;
}

export const CLUSTER_DOMAIN = 'cluster.local';

/** Of the Service `kubernetes`: the first of the range. */
export const API_SERVICE_ADDRESS = '10.96.0.1';

/** Ports of the node, which has them all for itself. */
export const PORTS = {
  apiServer: 6443,
  etcd: 2379,
  etcdHealth: 2381,
  registry: 5000,
  containerdMetrics: 1338,
  kubelet: 10250,
  kubeletHealth: 10248,
  kubeProxyHealth: 10256,
  scheduler: 10259,
  dnsReady: 8181,
} as const;
