import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Command, Option } from 'commander';
import { dnsName, duration, ownNamespace, type ServeOptions, serveOption, text } from '../config.ts';
import { Informer } from '../kube/informer.ts';
import type { KubeObject } from '../kube/object.ts';
import type { Resource } from '../kube/resource.ts';
import { sleep } from '../kube/sleep.ts';
import { createLogger } from '../log.ts';
import { cacheMetrics } from '../metrics/cache.ts';
import { clientMetrics } from '../metrics/client.ts';
import { nodeMetrics } from '../metrics/node.ts';
import { createRegistry } from '../metrics/registry.ts';
import { installPlugins } from '../network/node/cni-plugins.ts';
import { Host } from '../network/node/host.ts';
import { NeededNetworks } from '../network/node/needed-networks.ts';
import { programsOf } from '../network/node/programs.ts';
import { Sweeper } from '../network/node/sweeper.ts';
import {
  NETWORK_ATTACHMENT_DEFINITIONS,
  NETWORKS,
  type NetworkAttachmentDefinition,
} from '../network/resources.ts';
import type { Network } from '../network/types.ts';
import { createProbesServer, type ReadinessCheck } from '../probes.ts';
import { systemClock } from '../workqueue/clock.ts';
import { apiAccess } from './api-access.ts';
import type { ExitCode } from './cli.ts';
import { informerLog } from './informer-log.ts';
import { joiningDuty } from './joining-duty.ts';
import { listen } from './listen.ts';
import { UsageError } from './terminal.ts';
import { usableKubeConfig } from './usable-kube-config.ts';

export interface NodeAgentOptions
  extends Pick<ServeOptions, 'kubeconfig' | 'master' | 'metricsPort' | 'logLevel' | 'logFormat'> {
  readonly hostRoot: string;
  readonly cniBinDir: string;
  readonly cniPlugins: string;
  /** In milliseconds. */
  readonly sweepInterval: number;
  readonly joinNodes?: true;
  readonly nodeName?: string;
  readonly operatorNamespace: string;
}

export function addNodeAgentOptions(command: Command): Command {
  for (const name of ['kubeconfig', 'master', 'metrics-port', 'log-level', 'log-format'] as const) {
    command.addOption(serveOption(name));
  }
  const root = new Option('--host-root <directory>', 'where the file system of the node is');
  const plugins = new Option(
    '--cni-plugins <directory>',
    'where there are CNI plugins for a node that lacks them',
  );
  const directory = new Option('--cni-bin-dir <directory>', "where the node's CNI plugins are, on the node");
  const interval = new Option('--sweep-interval <duration>', 'how often the node is looked at');
  const node = new Option('--node-name <name>', 'name of the node, for --join-nodes').env('NODE_NAME');
  const namespace = new Option(
    '--operator-namespace <name>',
    'where the table of the nodes is, for --join-nodes',
  );
  return command
    .addOption(root.argParser(text).default('/host'))
    .addOption(directory.argParser(text).default('/opt/cni/bin'))
    .addOption(plugins.argParser(text).default('/opt/cni/bin'))
    .addOption(interval.argParser(duration).default(duration('5s'), '5s'))
    .option('--join-nodes', 'join the Networks of the node with those of the other nodes')
    .addOption(node.argParser(dnsName))
    .addOption(namespace.argParser(dnsName).default('envoy-initializer'));
}

/**
 * Looks after the networks of one node, until `stop` aborts: installs what CNI plugins it lacks, removes what is left
 * of Networks that are gone, and joins the others with those of the other nodes. Runs in the node's network, as root.
 * @throws UsageError where it is to join nodes and is not told which one it is on, and for a kubeconfig that cannot be used.
 */
export async function nodeAgent(options: NodeAgentOptions, stop: AbortSignal): Promise<ExitCode> {
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
  const probes = createProbesServer({ registry, checks, debug: {}, verbosity });

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
