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

/** What replaces parts of the kubeconfig, as kubectl's flags of these names do. */
export interface KubeconfigOverrides {
  readonly context?: string | undefined;
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  /** The user and the groups to impersonate. */
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

export interface LoadOptions extends KubeconfigOverrides {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly environment?: Environment;
  /** Directory of the pod's service account token. */
  readonly serviceAccount?: string;
}

/** --cluster and --user together need no context. */
const NO_CONTEXT = { where: '', value: {} };

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
  const found =
    files.length > 0
      ? currentAccess(readKubeconfigs(files), options)
      : accessOfPod(environment, serviceAccount, master);
  const flag = (['context', 'cluster', 'user'] as const).find((name) => options[name] !== undefined);
  if (files.length === 0 && flag !== undefined)
    throw new Error(`--${flag} needs a kubeconfig: use --kubeconfig, or set $KUBECONFIG`);
  const access = impersonated(found, options);
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

function currentAccess(kubeconfig: Kubeconfig, overrides: KubeconfigOverrides): Access {
  const files = kubeconfig.files.join(', ');
  const setting = overrides.context === undefined ? 'current-context' : '--context';
  const contextName = overrides.context ?? kubeconfig.currentContext;
  const entry = (kind: 'cluster' | 'user' | 'context', name: string | undefined): KubeconfigEntry => {
    const found = name === undefined ? undefined : kubeconfig.entry(kind, name);
    if (found) return found;
    const names = kubeconfig.names(kind);
    const known = names.length > 0 ? `the ${kind}s are ${names.join(', ')}` : `there are no ${kind}s`;
    if (kind === 'context')
      throw new Error(`${files}: ${setting} is ${JSON.stringify(contextName)}, but ${known}`);
    if (overrides[kind] !== undefined)
      throw new Error(`${files}: --${kind} is ${JSON.stringify(name)}, but ${known}`);
    const problem = name === undefined ? `names no ${kind}` : `names the ${kind} ${JSON.stringify(name)}`;
    throw new Error(`${files}: context ${JSON.stringify(contextName)} ${problem}, but ${known}`);
  };
  if (contextName === undefined && (overrides.cluster === undefined || overrides.user === undefined))
    throw new Error(`${files} has no current context: set current-context, or use --context`);
  const { where, value } = contextName === undefined ? NO_CONTEXT : entry('context', contextName);
  const context = new Fields(where, value);
  const clusterName = overrides.cluster ?? context.text('cluster');
  const userName = overrides.user ?? context.text('user');
  const cluster = readCluster(clusterName ?? '', entry('cluster', clusterName));
  const user = readUser(userName ?? '', entry('user', userName));
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

/** Replaces the impersonation of the kubeconfig, field by field as client-go does. */
function impersonated(access: Access, { as, asGroup }: KubeconfigOverrides): Access {
  if (as === undefined && asGroup === undefined) return access;
  const { user } = access;
  const impersonateUser = as ?? user.impersonateUser;
  if (!impersonateUser) throw new Error('--as-group needs a user to impersonate: add --as');
  const impersonateGroups = asGroup ?? user.impersonateGroups;
  return { ...access, user: { ...user, impersonateUser, impersonateGroups } };
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
