import { join } from 'node:path';
import { OvnNode } from '../../addons/neutron/node/ovn-node.ts';
import { waitForSync } from '../../kube/cache/wait-for-sync.ts';
import { usableKubeConfig } from '../../kube/client/kubeconfig/load-config.ts';
import { ownNamespace } from '../../kube/client/own-namespace.ts';
import { createLogger, type LogLevel, linesOf } from '../../kube/manager/logger.ts';
import { Manager } from '../../kube/manager/manager.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { Trigger } from '../../kube/workqueue/trigger.ts';
import { NODE_AGENT_FIELD_MANAGER } from '../api/names.ts';
import { NETWORKS } from '../api/resources.ts';
import type { Network } from '../api/types.ts';
import { installPlugins } from './cni/cni-plugins.ts';
import { FirstConfiguration } from './cni/first-configuration.ts';
import { Host, settingsOf } from './host.ts';
import { KnownNetworks } from './known-networks.ts';
import { nodeMetrics } from './metrics.ts';
import { ownNode, ownPod } from './own-node.ts';
import { lines, run } from './programs.ts';
import { Reconciler } from './reconciler.ts';
import { ReportWriter } from './report-writer.ts';

/** How soon to try again after a failure, and to look whether Multus is on the node. */
const RETRY_MS = 5_000;

export interface NodeAgentOptions {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly metricsPort: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  readonly hostRoot: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  readonly cniPlugins: string;
  /** In milliseconds. */
  readonly lookInterval: number;
  /** In milliseconds. */
  readonly linger: number;
  readonly vxlanPort: number;
  readonly underlayDevice?: string;
  readonly nodeAddress?: string;
  readonly nodeName?: string;
  /** Environment variables that look like flags and are none. */
  readonly ignoredVariables: readonly string[];
}

/**
 * Runs the node agent until `stop` aborts: installs missing CNI plugins, and connects the Networks that have pods on
 * this node with those of the other nodes. Needs the host network and root.
 * @throws UsageError without the name of the node, or if the kubeconfig is unusable.
 */
export async function nodeAgent(options: NodeAgentOptions, stop: AbortSignal): Promise<0 | 2> {
  const { nodeName } = options;
  const config = usableKubeConfig(options);
  if (nodeName === undefined) {
    throw new UsageError('the name of the node is missing: set --node-name or the variable NODE_NAME');
  }
  const { log, verbosity } = createLogger(options.logLevel, await linesOf(options.logFormat));
  const { ignoredVariables: variables } = options;
  if (variables.length > 0) log.warn({ variables }, 'unknown environment variables have no effect');
  try {
    const probes = { port: options.metricsPort, verbosity };
    const manager = Manager.create({ name: NODE_AGENT_FIELD_MANAGER, config, log, probes });
    setUp(manager, nodeName, options);
    await manager.run(stop);
    return 0;
  } catch (err) {
    log.fatal({ err }, 'cannot go on');
    return 2;
  }
}

/** Adds all parts of the node agent to the manager. */
function setUp(manager: Manager, node: string, options: NodeAgentOptions): void {
  const { hostRoot, cniBinDir, lookInterval, underlayDevice, nodeAddress } = options;
  const { client, log } = manager;
  const nowMs = () => performance.now();
  const metrics = nodeMetrics(manager.registry);
  manager.prepare(async () => {
    const directory = join(hostRoot, cniBinDir);
    const plugins = await installPlugins({ directory, source: options.cniPlugins });
    if (plugins.length > 0) log.info({ plugins, directory: cniBinDir }, 'installed CNI plugins');
  });
  const networks = manager.informer(NETWORKS, { transform: statusOnly });
  const known = new KnownNetworks(networks);
  const trigger = new Trigger();
  const fire = () => trigger.fire();
  networks.addEventHandler({ onAdd: fire, onUpdate: fire, onDelete: fire });
  const reconciler = new Reconciler({
    node,
    host: new Host({ root: hostRoot, programs: { run, lines }, settings: settingsOf(hostRoot) }),
    underlay: { device: underlayDevice, address: nodeAddress },
    port: options.vxlanPort,
    lookMs: lookInterval,
    lingerMs: options.linger,
    nowMs,
    networks: () => networks.lister.list(),
    known: () => known.keys(),
    onRemoved: () => metrics.leftoverRemoved(),
    log,
  });
  const writer = new ReportWriter({
    client,
    namespace: ownNamespace(),
    node,
    owner: () => ownNode(node),
    nowMs,
  });
  const ovnNode = new OvnNode({
    ...{ node, nowMs, plugins: join(hostRoot, cniBinDir) },
    interfaces: join(hostRoot, 'proc/sys/net/ipv4/conf'),
    database: join(hostRoot, 'run/openvswitch/db.sock'),
  });
  const { cniConfDir: path } = options;
  const configuration = new FirstConfiguration({ directory: join(hostRoot, path), path, log });
  let failure: string | undefined = 'node state not read yet';

  async function keep(signal: AbortSignal): Promise<void> {
    const pod = await ownPod();
    while (!signal.aborted) {
      const { report: joins, joined, problem } = await reconciler.round();
      const unable = await ovnNode.problems(networks.lister.list());
      const withoutMultus = await configuration.withoutMultus();
      const report = {
        ...joins,
        problems: { ...joins.problems, ...unable },
        ...(withoutMultus !== undefined && { withoutMultus }),
        ...(pod && { pod }),
      };
      failure = problem;
      metrics.joined(joined, problem !== undefined);
      await writer.write(report, signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, 'cannot write the report of this node');
      });
      await trigger.next(Math.min(RETRY_MS, lookInterval), signal);
    }
  }

  manager.addReadyz('networks', () => (networks.hasSynced() ? undefined : 'Networks not synced'));
  manager.addReadyz('joined', () => failure);
  // Without the cache, it would not know what is on the node.
  manager.everyReplica('networks', keep, { after: (signal) => waitForSync([networks], signal) });
}

/** Keeps the fields of a Network that only the operator writes. */
function statusOnly({ metadata, spec, status }: Network): Network {
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  const { cidr, gateway, mtu, secondary, vni, nodes, provider } = status ?? {};
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec,
    status: {
      ...(cidr !== undefined && { cidr }),
      ...(gateway !== undefined && { gateway }),
      ...(mtu !== undefined && { mtu }),
      ...(secondary && { secondary }),
      ...(vni !== undefined && { vni }),
      ...(nodes && { nodes }),
      ...(provider !== undefined && { provider }),
    },
  };
}
