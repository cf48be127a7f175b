import { KubeConfig } from '@kubernetes/client-node/dist/config.js';

/**
 * The configuration by which the API server is reached: of the file, else as kubectl finds it ($KUBECONFIG,
 * ~/.kube/config), else the pod's own service account. `master` is used in place of the server it names.
 * @throws Error when the file cannot be read or names no cluster.
 */
export function loadKubeConfig(options: {
  kubeconfig: string | undefined;
  master: string | undefined;
}): KubeConfig {
  const config = new KubeConfig();
  if (options.kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(options.kubeconfig);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new Error(
      `the kubeconfig${options.kubeconfig ? ` ${options.kubeconfig}` : ''} has no current context with a cluster`,
    );
  }
  if (options.master !== undefined) {
    const server = options.master;
    config.clusters = config.clusters.map((c) => (c.name === cluster.name ? { ...c, server } : c));
  }
  return config;
}
