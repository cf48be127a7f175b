import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { fileProblem } from '../../util/file-problem.ts';
import { reachable, readCluster } from './kubeconfig-cluster.ts';
import { Fields } from './kubeconfig-fields.ts';
import { defaultFiles, type Kubeconfig, type KubeconfigEntry, readKubeconfigs } from './kubeconfig-files.ts';
import type { KubeCluster, KubeUser } from './kubeconfig-types.ts';
import { readUser } from './kubeconfig-user.ts';
import type { Environment } from './proxy.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface LoadOptions {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly environment?: Environment;
  /** Directory of the pod's service account token. */
  readonly serviceAccount?: string;
}

/** The API server to use, and as which user. */
interface Access {
  readonly cluster: KubeCluster;
  readonly user: KubeUser;
  readonly namespace?: string | undefined;
}

/**
 * The configuration for the API server: from the given file, else where kubectl finds it ($KUBECONFIG, ~/.kube/config),
 * else from the pod's service account. `master` replaces its server. Each field that client-go uses is used, or refused
 * with an error that names it.
 * @throws Error of one line if the configuration is unusable.
 */
export function loadKubeConfig(options: LoadOptions): KubeConfig {
  const { kubeconfig, master, environment = process.env, serviceAccount = SERVICE_ACCOUNT } = options;
  const files = kubeconfig === undefined ? defaultFiles(environment) : [kubeconfig];
  const access =
    files.length > 0
      ? currentAccess(readKubeconfigs(files))
      : accessOfPod(environment, serviceAccount, master);
  const server = master ?? access.cluster.server;
  const cluster = reachable({ ...access.cluster, server: server.replace(/\/$/, '') }, environment);
  const config = new KubeConfig();
  const context = {
    name: 'current',
    cluster: cluster.name,
    user: access.user.name,
    namespace: access.namespace,
  };
  config.loadFromOptions({
    clusters: [cluster],
    users: [access.user],
    contexts: [context],
    currentContext: context.name,
  });
  return config;
}

function currentAccess(kubeconfig: Kubeconfig): Access {
  const files = kubeconfig.files.join(', ');
  const { currentContext } = kubeconfig;
  if (currentContext === undefined) throw new Error(`${files} has no current context: set current-context`);
  const entry = (kind: 'cluster' | 'user' | 'context', name: string | undefined): KubeconfigEntry => {
    const found = name === undefined ? undefined : kubeconfig.entry(kind, name);
    if (found) return found;
    const names = kubeconfig.names(kind);
    const known = names.length > 0 ? `the ${kind}s are ${names.join(', ')}` : `there are no ${kind}s`;
    const problem = name === undefined ? `names no ${kind}` : `names the ${kind} ${JSON.stringify(name)}`;
    throw new Error(
      kind === 'context'
        ? `${files}: current-context is ${JSON.stringify(currentContext)}, but ${known}`
        : `${files}: context ${JSON.stringify(currentContext)} ${problem}, but ${known}`,
    );
  };
  const { where, value } = entry('context', currentContext);
  const context = new Fields(where, value);
  const [clusterName = '', userName = ''] = [context.text('cluster'), context.text('user')];
  const cluster = readCluster(clusterName, entry('cluster', context.text('cluster')));
  const user = readUser(userName, entry('user', context.text('user')));
  requireReadable(
    `${files}: certificate-authority of the cluster ${JSON.stringify(clusterName)}`,
    cluster.caFile,
  );
  const ofUser = (field: string) => `${files}: ${field} of the user ${JSON.stringify(userName)}`;
  requireReadable(ofUser('client-certificate'), user.certFile);
  requireReadable(ofUser('client-key'), user.keyFile);
  requireReadable(ofUser('tokenFile'), user.tokenFile);
  return { cluster, user, namespace: context.text('namespace') };
}

function requireReadable(field: string, file: string | undefined): void {
  if (file === undefined) return;
  try {
    accessSync(file, constants.R_OK);
  } catch (cause) {
    throw new Error(`${field}: cannot read ${file}: ${fileProblem(cause)}`, { cause });
  }
}

/** The access of the pod's service account; outside a pod, anonymous access to `master`. */
function accessOfPod(environment: Environment, directory: string, master: string | undefined): Access {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const tokenFile = join(directory, 'token');
  if (host && port && existsSync(tokenFile)) {
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const cluster = { name: 'pod', server, skipTLSVerify: false, caFile: join(directory, 'ca.crt') };
    const namespaceFile = join(directory, 'namespace');
    const namespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : undefined;
    return { cluster, user: { name: 'pod', tokenFile }, namespace };
  }
  if (master !== undefined) {
    return { cluster: { name: 'master', server: master, skipTLSVerify: false }, user: { name: 'anonymous' } };
  }
  const { KUBECONFIG } = environment;
  throw new Error(
    KUBECONFIG
      ? `$KUBECONFIG is ${KUBECONFIG}, but no such file exists: set it to a kubeconfig`
      : 'none found: use --kubeconfig, set $KUBECONFIG, or create ~/.kube/config',
  );
}
