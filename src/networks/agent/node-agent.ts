import { join } from 'node:path';
import { Counter, Gauge } from 'prom-client';
import type { ObjectKey } from '../../kube/api/object.ts';
import { waitForSync } from '../../kube/cache/informer.ts';
import { usableKubeConfig } from '../../kube/client/kubeconfig/load-config.ts';
import { ownNamespace } from '../../kube/client/own-namespace.ts';
import { createLogger, type LogLevel } from '../../kube/manager/logger.ts';
import { Manager } from '../../kube/manager/manager.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { Trigger } from '../../kube/workqueue/trigger.ts';
import { NODE_AGENT_FIELD_MANAGER } from '../api/names.ts';
import { installPlugins } from './cni-plugins.ts';
import { type AgentNetwork, agentNetworks } from './desired.ts';
import { withoutMultus } from './first-configuration.ts';
import { Host, settingsOf } from './host.ts';
import { lostOn } from './lost-interfaces.ts';
import { run } from './programs.ts';
import { Reconciler } from './reconciler.ts';
import { ownNode, ownPod, reportWriter } from './report.ts';

/** How soon to try again after a failure, and to look whether Multus is on the node. */
const RETRY_MS = 5_000;
const nowMs = () => performance.now();

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

/** What an add-on does on each node. */
export interface NodePart {
  /** Its CNI plugins: scripts by their names. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Why Networks with pods on this node do not work on it, by their keys. */
  problems(here: readonly AgentNetwork[]): Promise<Readonly<Record<ObjectKey, string>>>;
}

export type SetUpNodePart = (options: NodePartOptions) => NodePart;

export interface NodePartOptions {
  /** Where the node's directories are mounted. */
  readonly root: string;
  /** Where the node's container runtime looks for plugins. */
  readonly plugins: string;
  readonly nowMs: () => number;
}

/**
 * Runs the node agent until `stop` aborts: installs missing CNI plugins, and connects the Networks that have pods on
 * this node with those of the other nodes. Needs the host network and root.
 * @throws UsageError without the name of the node, or if the kubeconfig is unusable.
 */
export async function nodeAgent(
  options: NodeAgentOptions,
  stop: AbortSignal,
  parts: readonly SetUpNodePart[] = [],
): Promise<0 | 2> {
  const { nodeName } = options;
  const config = usableKubeConfig(options);
  if (nodeName === undefined) {
    throw new UsageError('the node name is missing: set --node-name or the variable NODE_NAME');
  }
  const log = await createLogger(options.logLevel, options.logFormat);
  const { ignoredVariables: variables } = options;
  if (variables.length > 0) log.warn({ variables }, 'unknown environment variables have no effect');
  try {
    const probes = { port: options.metricsPort };
    const manager = Manager.create({ name: NODE_AGENT_FIELD_MANAGER, config, log, probes });
    const root = options.hostRoot;
    const plugins = join(root, options.cniBinDir);
    const made = parts.map((part) => part({ root, plugins, nowMs }));
    setUp(manager, nodeName, options, made);
    const scripts = Object.assign({}, ...made.map((part) => part.scripts));
    const installed = await installPlugins({ directory: plugins, source: options.cniPlugins, scripts });
    if (installed.length > 0)
      log.info({ plugins: installed, directory: options.cniBinDir }, 'installed CNI plugins');
    await manager.run(stop);
    return 0;
  } catch (err) {
    log.fatal({ err }, 'fatal error, exiting');
    return 2;
  }
}

function setUp(manager: Manager, node: string, options: NodeAgentOptions, parts: readonly NodePart[]): void {
  const { hostRoot: root, lookInterval, underlayDevice, nodeAddress } = options;
  const { client, log } = manager;
  const registers = [manager.registry];
  const joinedNetworks = new Gauge({
    name: 'envoy_initializer_node_networks',
    help: 'Networks with pods here that this node has connected to other nodes',
    registers,
  });
  const hasProblem = new Gauge({
    name: 'envoy_initializer_node_problem',
    help: '1 while the node agent cannot connect a Network; its report and its log say why',
    registers,
  });
  const removed = new Counter({
    name: 'envoy_initializer_node_leftovers_removed_total',
    help: 'Bridges that the node agent has removed, because no pod needs them',
    registers,
  });
  const networks = manager.informer(agentNetworks(node));
  const trigger = new Trigger();
  const fire = () => trigger.fire();
  networks.addEventHandler({ onAdd: fire, onUpdate: fire, onDelete: fire });
  const reconciler = new Reconciler({
    host: new Host({ root, run, settings: settingsOf(root) }),
    underlay: { device: underlayDevice, address: nodeAddress },
    port: options.vxlanPort,
    syncIntervalMs: lookInterval,
    unusedBridgeTtlMs: options.linger,
    nowMs,
    networks: () => networks.lister.list(),
    onRemoved: () => removed.inc(),
    log,
  });
  const write = reportWriter({
    client,
    namespace: ownNamespace(),
    node,
    owner: () => ownNode(node),
    nowMs,
  });
  const { cniConfDir: path } = options;
  let isUnknownTold = false;
  let failure: string | undefined = 'node state not read yet';

  async function keep(signal: AbortSignal): Promise<void> {
    const pod = await ownPod();
    while (!signal.aborted) {
      const { report: joins, joined, problem } = await reconciler.sync();
      const here = networks.lister.list().filter(({ isHere }) => isHere);
      const unable = await Promise.all(parts.map((part) => part.problems(here)));
      const lost = await lostOn(here, root);
      const lacks = await withoutMultus(join(root, path));
      // A node whose pods start all the same has it in another directory.
      if (lacks === null && !isUnknownTold)
        log.info(
          { path },
          "no CNI configuration of a cluster's network: not known whether Multus is the first",
        );
      isUnknownTold = lacks === null;
      const report = {
        ...joins,
        problems: Object.assign({}, joins.problems, ...unable),
        ...(Object.keys(lost).length > 0 && { lost }),
        ...(typeof lacks === 'string' && { withoutMultus: lacks }),
        ...(pod && { pod }),
      };
      failure = problem;
      joinedNetworks.set(joined);
      hasProblem.set(problem === undefined ? 0 : 1);
      await write(report, signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, "cannot write this node's report");
      });
      await trigger.next(Math.min(RETRY_MS, lookInterval), signal);
    }
  }

  manager.addReadyz('networks', () => (networks.hasSynced() ? undefined : 'Networks not synced'));
  manager.addReadyz('joined', () => failure);
  // Without the cache, it would not know what is on the node.
  manager.everyReplica('networks', keep, { after: (signal) => waitForSync([networks], signal) });
}
