import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';
import type { Credentials } from '../control-plane/credentials.ts';
import { renderKubeconfig } from '../control-plane/kubeconfig.ts';
import { CNI_DIRECTORIES, cniConfig, containerdConfig, registryHosts } from './container-config.ts';
import { corefile } from './dns/dns.ts';
import { kubeletConfig, kubeProxyConfig } from './kubelet-config.ts';
import type { Machine } from './machine.ts';
import type { NodeCredentials } from './node-credentials.ts';
import { CNI_PLUGINS } from './requirements.ts';

/** Paths of what a node keeps on disk, beside the directories that its machine has for itself. */
export interface NodeFiles {
  readonly containerdConfig: string;
  /** A directory with one for each host of a registry. */
  readonly registryHosts: string;
  readonly kubeletConfig: string;
  readonly kubeletKubeconfig: string;
  readonly kubeProxyConfig: string;
  readonly kubeProxyKubeconfig: string;
  readonly schedulerKubeconfig: string;
  readonly corefile: string;
  readonly dnsKubeconfig: string;
  readonly kubeletClientCert: string;
  readonly kubeletClientKey: string;
  readonly servingCert: string;
  readonly servingKey: string;
  /** Of the registry. */
  readonly images: string;
}

/** Lays out the files of a node in its machine's directory. */
export function nodeFiles(directory: string): NodeFiles {
  const at = (...names: string[]) => join(directory, 'node', ...names);
  return {
    containerdConfig: at('containerd.toml'),
    registryHosts: at('registry-hosts'),
    kubeletConfig: at('kubelet.json'),
    kubeletKubeconfig: at('kubelet.kubeconfig'),
    kubeProxyConfig: at('kube-proxy.json'),
    kubeProxyKubeconfig: at('kube-proxy.kubeconfig'),
    schedulerKubeconfig: at('kube-scheduler.kubeconfig'),
    corefile: at('Corefile'),
    dnsKubeconfig: at('coredns.kubeconfig'),
    kubeletClientCert: at('pki', 'kubelet-client.crt'),
    kubeletClientKey: at('pki', 'kubelet-client.key'),
    servingCert: at('pki', 'node.crt'),
    servingKey: at('pki', 'node.key'),
    images: at('images'),
  };
}

/** What the files are to say. */
export interface NodeFilesContent {
  readonly machine: Machine;
  readonly nodeName: string;
  /** Of its pods. */
  readonly podRange: string;
  /** Of the node that has the registry and the DNS server. */
  readonly hubAddress: string;
  readonly credentials: Credentials;
  readonly nodeCredentials: NodeCredentials;
  /** The API server's base URL. */
  readonly server: string;
  /** The authority's certificate, which is on disk already. */
  readonly caFile: string;
  /** How often the kubelet looks at each pod, such as `1m`; by default more often than it would. */
  readonly syncFrequency?: string | undefined;
}

/** Writes what the processes of a node read at start, each file for its owner alone. */
export async function writeNodeFiles(files: NodeFiles, content: NodeFilesContent): Promise<void> {
  const { machine, nodeName, podRange, hubAddress, credentials, nodeCredentials, server, caFile } = content;
  const { kubelet, kubeProxy, scheduler, dns, kubeletClient, serving } = nodeCredentials;
  const { caPem } = credentials;
  const kubeconfig = (name: string, user: CertificateAndKey) =>
    renderKubeconfig({ name, server, caPem, user });
  const contents: readonly (readonly [string, string])[] = [
    [files.containerdConfig, containerdConfig(files.registryHosts)],
    [join(files.registryHosts, '_default', 'hosts.toml'), registryHosts(hubAddress)],
    [join(machine.outside(CNI_DIRECTORIES.config), '10-bridge.conflist'), cniConfig(podRange)],
    [files.kubeletConfig, kubeletConfig(machine, hubAddress, { ...files, caFile }, content.syncFrequency)],
    [files.kubeletKubeconfig, kubeconfig('kubelet', kubelet)],
    [files.kubeProxyConfig, kubeProxyConfig(machine, nodeName, files.kubeProxyKubeconfig)],
    [files.kubeProxyKubeconfig, kubeconfig('kube-proxy', kubeProxy)],
    [files.schedulerKubeconfig, kubeconfig('kube-scheduler', scheduler)],
    [files.corefile, corefile(machine.address, files.dnsKubeconfig)],
    [files.dnsKubeconfig, kubeconfig('coredns', dns)],
    [files.kubeletClientCert, kubeletClient.certPem],
    [files.kubeletClientKey, kubeletClient.keyPem],
    [files.servingCert, serving.certPem],
    [files.servingKey, serving.keyPem],
  ];
  await mkdir(files.images, { recursive: true });
  for (const [path, text] of contents) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
  }
  // As links, so that a plugin that is installed there, as a DaemonSet does, overwrites none of the machine's.
  const plugins = machine.outside(CNI_DIRECTORIES.plugins);
  for (const name of await readdir(CNI_PLUGINS)) await symlink(join(CNI_PLUGINS, name), join(plugins, name));
}
