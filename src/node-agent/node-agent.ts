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
import { pickSubnet } from '../network/api/subnet.ts';
import type { Network } from '../network/api/types.ts';
import { installPlugins } from './cni-plugins.ts';
import { Host } from './host.ts';
import { setUpMesh } from './mesh-setup.ts';
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
 * Runs the node agent until `stop` aborts: installs missing CNI plugins, removes the leftovers of deleted Networks,
 * and joins the others with those of the other nodes. Needs the host network and root.
 * @throws UsageError if --join-nodes lacks the node's name, or the kubeconfig is unusable.
 */
export async function nodeAgent(options: NodeAgentOptions, stop: AbortSignal): Promise<0 | 2> {
  const { joinNodes, nodeName } = options;
  if (joinNodes && nodeName === undefined) {
    throw new UsageError(
      '--join-nodes needs the name of the node: set --node-name or the variable NODE_NAME',
    );
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

/** Adds all parts of the node agent to the manager. */
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
  manager.addReadyz('networks', () => (isListed() ? undefined : 'Networks not synced'));
  const needed = new NeededNetworks([networks, attachments]);
  const host = new Host(hostRoot, programsOf(hostRoot));
  const onRemoved = () => metrics.leftoverRemoved();
  const sweeper = new Sweeper({ host, needed: () => needed.keys(), onRemoved, log });
  manager.everyReplica('sweep', () => sweeper.sweep(), {
    everyMs: sweepInterval,
    failed: (err) => log.error({ err }, 'cannot read the state of the node'),
  });
  if (!joinNodes || nodeName === undefined) return;
  setUpMesh(manager, {
    host,
    node: nodeName,
    operatorNamespace,
    networks,
    needed,
    namespace: ownNamespace(),
    intervalMs: sweepInterval,
    onReport: (report) => metrics.joined(Object.keys(report.networks).length, report.problem !== undefined),
  });
}

/** Keeps the fields of a Network that only the operator writes. */
function statusOnly({ metadata, spec, status }: Network): Network {
  const { vni } = status ?? {};
  const kept = { ...pickSubnet(status ?? {}), ...(vni !== undefined && { vni }) };
  return { ...nameOnly({ metadata }), spec, status: kept };
}

function nameOnly({ metadata }: KubeObject): NetworkAttachmentDefinition {
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion } };
}
