import { join } from 'node:path';
import type { KubeObject } from '../kube/api/object.ts';
import { usableKubeConfig } from '../kube/client/kubeconfig/usable-kube-config.ts';
import { ownNamespace } from '../kube/client/own-namespace.ts';
import { createLogger, type LogLevel } from '../kube/manager/logger.ts';
import { Manager } from '../kube/manager/manager.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { NODE_AGENT_FIELD_MANAGER } from '../network/api/names.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../network/api/resources.ts';
import type { Network } from '../network/api/types.ts';
import { installPlugins } from './cni-plugins.ts';
import { Host } from './host.ts';
import { setUpMesh } from './mesh-controller.ts';
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
  const { joinNodes, nodeName } = options;
  if (joinNodes && nodeName === undefined) {
    throw new UsageError('--join-nodes needs --node-name, or the variable NODE_NAME: the name of the node');
  }
  const config = usableKubeConfig(options);
  const { log, verbosity } = createLogger(options.logLevel, options.logFormat);
  try {
    const probes = { port: options.metricsPort, verbosity };
    const manager = Manager.create({ name: NODE_AGENT_FIELD_MANAGER, config, log, probes });
    setUp(manager, options);
    await manager.run(stop);
    return 0;
  } catch (err) {
    log.fatal({ err }, 'cannot go on');
    return 2;
  }
}

/** All parts of the node agent. */
function setUp(manager: Manager, options: NodeAgentOptions): void {
  const { hostRoot, cniBinDir, sweepInterval, nodeName, joinNodes, operatorNamespace } = options;
  const { log } = manager;
  const metrics = nodeMetrics(manager.registry);
  manager.prepare(async () => {
    const directory = join(hostRoot, cniBinDir);
    const plugins = await installPlugins({ directory, source: options.cniPlugins });
    if (plugins.length > 0) log.info({ plugins, directory: cniBinDir }, 'installed CNI plugins');
  });
  const networks = manager.informer(NETWORKS, { transform: statusOnly });
  const attachments = manager.informer(NETWORK_ATTACHMENT_DEFINITIONS, { transform: nameOnly });
  const isListed = () => networks.hasSynced() && attachments.hasSynced();
  manager.addReadyz('networks', () => (isListed() ? undefined : 'not listed yet'));
  const needed = new NeededNetworks([networks, attachments]);
  const host = new Host(hostRoot, programsOf(hostRoot));
  const onRemoved = () => metrics.leftoverRemoved();
  const sweeper = new Sweeper({ host, needed: () => needed.keys(), onRemoved, log });
  manager.everyReplica('sweep', () => sweeper.sweep(), {
    everyMs: sweepInterval,
    failed: (err) => log.error({ err }, 'the node cannot be looked at'),
  });
  if (!joinNodes || nodeName === undefined) return;
  setUpMesh(manager, {
    ...{ host, node: nodeName, operatorNamespace, networks, needed },
    namespace: ownNamespace(),
    intervalMs: sweepInterval,
    onReport: (report) => metrics.joined(Object.keys(report.networks).length, report.problem !== undefined),
  });
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
