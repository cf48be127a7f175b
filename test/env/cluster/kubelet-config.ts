import { CLUSTER_DOMAIN, POD_RANGE, PORTS } from './addresses.ts';
import { CONTAINERD_SOCKET } from './container-config.ts';
import type { Machine } from './machine.ts';

/** Files that a kubelet's configuration names. */
export interface KubeletConfigFiles {
  readonly caFile: string;
  readonly servingCert: string;
  readonly servingKey: string;
}

/** Renders kubelet.config.k8s.io/v1beta1. Authentication and authorization are the defaults: certificates, tokens, RBAC. */
export function kubeletConfig(
  machine: Machine,
  dnsAddress: string,
  files: KubeletConfigFiles,
  // A changed ConfigMap reaches its pods in seconds, not in a minute.
  syncFrequency = '10s',
): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    authentication: { x509: { clientCAFile: files.caFile } },
    tlsCertFile: files.servingCert,
    tlsPrivateKeyFile: files.servingKey,
    healthzBindAddress: machine.address,
    healthzPort: PORTS.kubeletHealth,
    cgroupDriver: 'cgroupfs',
    // Removed with the machine; a kubelet of the machine outside has its own.
    cgroupRoot: `/${machine.name}`,
    failCgroupV1: false,
    failSwapOn: false,
    maxOpenFiles: 16_384,
    volumePluginDir: '/var/lib/kubelet/volumeplugins',
    clusterDomain: CLUSTER_DOMAIN,
    clusterDNS: [dnsAddress],
    resolvConf: '',
    // The disk is not ours alone: that it is nearly full is no reason to evict a pod or to forget an image.
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    syncFrequency,
  });
}

/** Renders kubeproxy.config.k8s.io/v1alpha1. */
export function kubeProxyConfig(machine: Machine, nodeName: string, kubeconfig: string): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig },
    mode: 'iptables',
    hostnameOverride: nodeName,
    clusterCIDR: POD_RANGE,
    healthzBindAddress: `${machine.address}:${PORTS.kubeProxyHealth}`,
    // These limits are the kernel's, for all of the machine outside: 0 leaves them.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
}
