import type { Cluster } from '../../env/cluster/cluster.ts';
import { type ClusterOptions, startCluster } from '../../env/cluster/start-cluster.ts';
import { type CommandResult, runCommand } from '../../env/control-plane/run-command.ts';
import { startKind } from '../../env/kind/kind.ts';
import { nothingRefused } from '../operator/rights.ts';
import { uninstalled } from '../operator/uninstall.ts';

/** Where the suites that run in any cluster make what they make. */
export const TEST_NAMESPACES = ['e2e-install', 'e2e-load', 'e2e-fleet', 'e2e-copies'] as const;

/** A cluster with the operator's image on its nodes: one of our own, one of kind, or the one that E2E_KUBECONFIG names. */
export interface E2eCluster {
  readonly kubeconfigPath: string;
  /** All that takes root on the node; undefined where the cluster is somebody else's. */
  readonly own: Cluster | undefined;
  kubectl(args: readonly string[], options?: { readonly input?: string }): Promise<CommandResult>;
  /** Somebody else's cluster goes on, without the operator and what the tests have made. */
  stop(): Promise<void>;
}

const IMAGE = 'envoy-initializer:0.0.1';
const OPERATOR = 'system:serviceaccount:envoy-initializer:envoy-initializer';
const AGENT = 'system:serviceaccount:envoy-initializer-node-agent:envoy-initializer-node-agent';

/** The kubeconfig of a cluster that is not ours, as kind and minikube make one, where the user names it. */
export const foreignKubeconfig = process.env.E2E_KUBECONFIG || undefined;

/** Why there is no node of our own, whatever the machine; undefined where there may be. */
export const notOurs =
  foreignKubeconfig !== undefined
    ? 'E2E_KUBECONFIG names a cluster that is not ours'
    : process.env.E2E_CLUSTER === 'kind'
      ? 'E2E_CLUSTER=kind'
      : undefined;

/** Starts a cluster of our own as the options say, or one of kind, unless there is somebody else's. */
export async function startE2eCluster(options: ClusterOptions): Promise<E2eCluster> {
  if (foreignKubeconfig !== undefined) return foreignCluster(foreignKubeconfig);
  if (notOurs !== undefined) return kindCluster();
  const own = await startCluster({ auditLog: 'Metadata', ...options });
  return {
    own,
    kubeconfigPath: own.kubeconfigPath,
    kubectl: (args, input) => own.kubectl(args, input),
    stop: () => stopCluster(own),
  };
}

/** Stops it. @throws where the operator or its node agents were refused anything. */
export async function stopCluster(cluster: Cluster | undefined): Promise<void> {
  try {
    if (cluster !== undefined) {
      const { auditLogPath } = cluster.controlPlane;
      const kubectl = (args: readonly string[]) => cluster.kubectl(args);
      await nothingRefused({ auditLogPath, kubectl }, OPERATOR, AGENT);
    }
  } finally {
    await cluster?.stop();
  }
}

/** By the user's own kubectl. */
function foreignCluster(kubeconfigPath: string): E2eCluster {
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, KUBECONFIG: kubeconfigPath };
  const kubectl: E2eCluster['kubectl'] = (args, { input = '' } = {}) =>
    runCommand('kubectl', args, env, input);
  return {
    own: undefined,
    kubeconfigPath,
    kubectl,
    async stop() {
      await uninstalled(kubeconfigPath, '--force');
      await kubectl(['delete', 'namespace', ...TEST_NAMESPACES, '--ignore-not-found']);
    },
  };
}

/** One of kind, of one node, which ends with the tests. */
async function kindCluster(): Promise<E2eCluster> {
  const kind = await startKind();
  try {
    for (const command of ['kind create cluster', `kind load docker-image ${IMAGE}`]) {
      const { code, stdout } = await kind.type(command);
      if (code !== 0) throw new Error(`${command}: ${stdout}`);
    }
  } catch (err) {
    await kind.stop();
    throw err;
  }
  return {
    own: undefined,
    kubeconfigPath: kind.kubeconfigPath,
    kubectl: (...call) => kind.kubectl(...call),
    stop: () => kind.stop(),
  };
}
