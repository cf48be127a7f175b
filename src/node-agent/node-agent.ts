import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import type { KubeObject } from '../kube/api/object.ts';
import type { Resource } from '../kube/api/resource.ts';
import { Informer } from '../kube/cache/informer.ts';
import { informerLog } from '../kube/cache/informer-log.ts';
import { apiAccess } from '../kube/client/access.ts';
import { usableKubeConfig } from '../kube/client/kubeconfig/usable-kube-config.ts';
import { ownNamespace } from '../kube/client/own-namespace.ts';
import { createProbesServer, type ReadinessCheck } from '../kube/manager/health-server.ts';
import { listen } from '../kube/manager/listen.ts';
import { createLogger, type LogLevel } from '../kube/manager/logger.ts';
import { createRegistry } from '../kube/manager/registry.ts';
import { cacheMetrics } from '../kube/prometheus/cache.ts';
import { clientMetrics } from '../kube/prometheus/client.ts';
import { sleep } from '../kube/util/sleep.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { systemClock } from '../kube/workqueue/clock.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../network/api/resources.ts';
import type { Network } from '../network/api/types.ts';
import { installPlugins } from './cni-plugins.ts';
import { Host } from './host.ts';
import { joiningDuty } from './mesh-controller.ts';
import { nodeMetrics } from './metrics.ts';
import { NeededNetworks } from './needed-networks.ts';
import { programsOf } from './programs.ts';
import { Sweeper } from './sweeper.ts';

export interface NodeAgentOptions {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly metricsPort: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  readonly hostRoot: string;
  readonly cniBinDir: string;
  readonly cniPlugins: string;
  /** In milliseconds. */
  readonly sweepInterval: number;
  readonly joinNodes?: true;
  readonly nodeName?: string;
  readonly operatorNamespace: string;
}

/**
 * Looks after the networks of one node, until `stop` aborts: installs what CNI plugins it lacks, removes what is left
 * of Networks that are gone, and joins the others with those of the other nodes. Runs in the node's network, as root.
 * @throws UsageError where it is to join nodes and is not told which one it is on, and for a kubeconfig that cannot be used.
 */
export async function nodeAgent(options: NodeAgentOptions, stop: AbortSignal): Promise<0 | 2> {
  const { joinNodes, nodeName, hostRoot } = options;
  if (joinNodes && nodeName === undefined) {
    throw new UsageError('--join-nodes needs --node-name, or the variable NODE_NAME: the name of the node');
  }
  const config = usableKubeConfig(options);
  const logger = createLogger(options.logLevel, options.logFormat);
  const { log } = logger;
  try {
    const source = options.cniPlugins;
    const written = await installPlugins({ directory: join(hostRoot, options.cniBinDir), source });
    if (written.length > 0)
      log.info({ plugins: written, directory: options.cniBinDir }, 'installed CNI plugins');
    await run(options, config, logger, stop);
    return 0;
  } catch (err) {
    log.fatal({ err }, 'cannot go on');
    return 2;
  }
}

async function run(
  options: NodeAgentOptions,
  config: KubeConfig,
  { log, verbosity }: ReturnType<typeof createLogger>,
  stop: AbortSignal,
): Promise<void> {
  const { hostRoot, sweepInterval, nodeName, joinNodes, operatorNamespace } = options;
  const clock = systemClock;
  const registry = createRegistry();
  const metrics = nodeMetrics(registry);
  const api = apiAccess({
    config,
    clock,
    log,
    metrics: clientMetrics(registry),
    cacheMetrics: cacheMetrics(registry, Date.now),
  });
  const { client } = api;
  const informer = <T extends KubeObject>(resource: Resource<T>, transform: (object: T) => T) =>
    new Informer({ client, clock, resource, transform, onError: informerLog(log, resource.plural) });
  const networks = informer(NETWORKS, statusOnly);
  const attachments = informer(NETWORK_ATTACHMENT_DEFINITIONS, nameOnly);
  const needed = new NeededNetworks([networks, attachments]);
  const host = new Host(hostRoot, programsOf(hostRoot));
  const onRemoved = () => metrics.leftoverRemoved();
  const sweeper = new Sweeper({ host, needed: () => needed.keys(), onRemoved, log });
  const joining =
    joinNodes && nodeName !== undefined
      ? joiningDuty({
          ...{ client, clock, log, host, node: nodeName, operatorNamespace, networks, needed },
          namespace: ownNamespace(),
          intervalMs: sweepInterval,
          onReport: ({ networks, problem }) =>
            metrics.joined(Object.keys(networks).length, problem !== undefined),
        })
      : undefined;
  const isListed = () => networks.hasSynced() && attachments.hasSynced();
  const checks: ReadinessCheck[] = [
    { name: 'networks', failure: () => (isListed() ? undefined : 'not listed yet') },
    ...(joining ? [{ name: 'joined', failure: joining.failure }] : []),
  ];
  const probes = createProbesServer({ clock, registry, checks, debug: {}, verbosity });

  async function sweep(): Promise<void> {
    while (!stop.aborted) {
      await sweeper.sweep().catch((err: unknown) => log.error({ err }, 'the node cannot be looked at'));
      await sleep(clock, sweepInterval, stop).catch(() => undefined);
    }
  }

  try {
    await listen(probes, options.metricsPort);
    await Promise.all([networks.run(stop), attachments.run(stop), sweep(), joining?.run(stop)]);
  } finally {
    probes.close();
    probes.closeAllConnections();
    await api.close();
  }
}

/** What an agent keeps of a Network: what only the operator writes. */
function statusOnly({ metadata, spec, status }: Network): Network {
  const { cidr, gateway, mtu, vni } = status ?? {};
  const told = {
    ...(cidr !== undefined && { cidr }),
    ...(gateway !== undefined && { gateway }),
    ...(mtu !== undefined && { mtu }),
    ...(vni !== undefined && { vni }),
  };
  return { ...nameOnly({ metadata }), spec, status: told };
}

function nameOnly({ metadata }: KubeObject): NetworkAttachmentDefinition {
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion } };
}
