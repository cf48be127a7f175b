import { resolve } from 'node:path';
import { Fields } from './kubeconfig-fields.ts';
import type { KubeconfigEntry } from './kubeconfig-files.ts';
import type { KubeCluster } from './kubeconfig-types.ts';
import { type Environment, parseProxy, proxyFromEnvironment } from './proxy.ts';

/** The extension of a cluster that credential plugins read. */
const EXEC_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * The cluster of a kubeconfig, with every field that client-go v1 has.
 * @throws Error for an invalid field, an unknown field, and fields that exclude each other.
 */
export function readCluster(name: string, { where, value, directory }: KubeconfigEntry): KubeCluster {
  const fields = new Fields(where, value);
  const caFile = fields.text('certificate-authority');
  const cluster: KubeCluster = {
    name,
    server: fields.text('server') ?? '',
    tlsServerName: fields.text('tls-server-name'),
    skipTLSVerify: fields.flag('insecure-skip-tls-verify'),
    caFile: caFile && resolve(directory, caFile),
    caData: fields.text('certificate-authority-data'),
    proxyUrl: fields.text('proxy-url'),
    disableCompression: fields.flag('disable-compression'),
    execExtension: fields
      .list('extensions')
      .find((extension) => extension.text('name') === EXEC_EXTENSION)
      ?.value('extension'),
  };
  fields.end();
  const { caData, skipTLSVerify, proxyUrl } = cluster;
  if (caFile && caData) {
    throw new Error(
      `${where}: certificate-authority and certificate-authority-data cannot be used together: remove one`,
    );
  }
  if (skipTLSVerify && (caFile ?? caData)) {
    throw new Error(
      `${where}: insecure-skip-tls-verify and a certificate authority cannot be used together: remove one`,
    );
  }
  if (proxyUrl) parseProxy(proxyUrl, `${where}.proxy-url`);
  return cluster;
}

/**
 * The same cluster, with the proxy for its server.
 * @throws Error for an invalid server or proxy.
 */
export function reachable(cluster: KubeCluster, environment: Environment): KubeCluster {
  const server = URL.parse(cluster.server);
  if (!server || (server.protocol !== 'https:' && server.protocol !== 'http:')) {
    throw new Error(`expected an https URL for the API server, got ${JSON.stringify(cluster.server)}`);
  }
  const isPlain = server.protocol === 'http:';
  if (isPlain && !cluster.skipTLSVerify) {
    throw new Error(
      `expected an https URL for the API server, got ${cluster.server}: set insecure-skip-tls-verify to use http`,
    );
  }
  const proxyUrl = cluster.proxyUrl ?? proxyFromEnvironment(server, environment);
  if (isPlain && proxyUrl) {
    throw new Error(
      `the API server ${cluster.server} is behind a proxy (${new URL(proxyUrl).origin}): use https`,
    );
  }
  return { ...cluster, proxyUrl };
}
