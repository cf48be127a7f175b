import { namespaceOf, type PodSite, podSites } from '../../injection/podspec/workload.ts';
import { templateDryRun } from '../../injection/webhook/template-dry-run.ts';
import { ifFound, ifReadable, isNotFound } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { systemClock } from '../../kube/workqueue/clock.ts';
import { NETWORKS } from '../../networks/api/resources.ts';
import type { SelectionFlags } from '../../operator/configuration-mismatch.ts';
import { type CommandContext, type SetUpCommand, type ToolParts, toolsOf } from '../add-on.ts';
import { type Cluster, withCluster } from '../cluster.ts';
import { readDeployment } from '../installation.ts';
import { type OutputFormat, outputOption, printOutput } from '../io/output.ts';
import type { ExitCode } from '../io/terminal.ts';
import { namespaceObjects } from '../namespace-objects.ts';
import { serveOption } from '../options/serve-options.ts';
import {
  addClusterOptions,
  addScopeOptions,
  type ClusterOptions,
  type ScopeOptions,
  scopeOf,
} from '../options/tool-options.ts';
import { liveTemplates } from '../survey.ts';
import { checkNetwork } from './check-network.ts';
import { checkLive } from './check-pod.ts';
import {
  type CheckFinding,
  type CheckReport,
  formatObjectReport,
  formatReport,
  formatReports,
  type ObjectReport,
} from './check-report.ts';
import { getTarget, nameInTarget, OTHER_KINDS, parseTarget, workloadsIn } from './check-target.ts';
import { appliedWebhooks } from './check-webhook.ts';

interface CheckOptions extends ClusterOptions, ScopeOptions, SelectionFlags {
  readonly output: OutputFormat;
  readonly all?: boolean;
}

/** Prints why a pod or a workload is injected or not, and how to solve problems. */
export async function run(
  { terminal, addOns }: CommandContext,
  kind: string | undefined,
  name: string | undefined,
  options: CheckOptions,
): Promise<ExitCode> {
  const tools = await toolsOf(addOns);
  if (name?.includes('/'))
    throw new UsageError(
      `expected one target, got ${kind} and ${name}: check one after the other, or use --all`,
    );
  const target = name === undefined ? kind : `${kind}/${name}`;
  const print = (reports: readonly ObjectReport[], lines: readonly string[]): ExitCode => {
    printOutput(terminal, options.output, JSON.parse(JSON.stringify(reports)), lines);
    return reports.some(({ findings }) => findings.length > 0) ? 1 : 0;
  };
  if (options.all || options.allNamespaces) {
    if (target !== undefined)
      throw new UsageError('--all and --all-namespaces check all workloads: leave out the target');
    const reports = await withCluster(options, (cluster) => checkAll(cluster, options, tools));
    return print(reports, formatReports(reports));
  }
  if (options.selector !== undefined)
    throw new UsageError('--selector works with --all or --all-namespaces: add one of them');
  if (target === undefined)
    throw new UsageError('nothing to check: use a target such as deploy/web, or --all');
  const about = objectQuestion(target, options, tools);
  if (about) {
    const report = await withCluster(options, ({ client, namespace }) =>
      about(client, options.namespace ?? namespace),
    );
    return print([report], formatObjectReport(report));
  }
  const parsed = parseTarget(target, OTHER_KINDS);
  const reports = await withCluster(options, async (cluster) => {
    const namespace = options.namespace ?? cluster.namespace;
    const object = await ifFound(getTarget(cluster.client, namespace, parsed));
    if (object === undefined) throw new UsageError(`${target} does not exist in namespace ${namespace}`);
    return await reportLive(cluster, options, [...podSites(object)], namespace, tools);
  });
  return print(reports, reports.flatMap(formatReport));
}

/** Checks all workloads of a namespace, or of all. For people, those with findings are printed, and the numbers. */
async function checkAll(
  cluster: Cluster,
  options: CheckOptions,
  tools: readonly ToolParts[],
): Promise<readonly CheckReport[]> {
  const scope = scopeOf(options, cluster.namespace);
  const { namespace } = scope;
  const sites: PodSite[] = [];
  for await (const object of workloadsIn(cluster.client, scope)) sites.push(...podSites(object));
  if (sites.length === 0 && namespace !== undefined)
    await cluster.client.get(NAMESPACES, { name: namespace }).catch((cause: unknown) => {
      // Users who may not read it get no error.
      if (isNotFound(cause)) throw cause;
    });
  return await reportLive(cluster, options, sites, namespace ?? cluster.namespace, tools);
}

/** The question about another object than a workload; undefined if the target is a workload. */
function objectQuestion(target: string, options: CheckOptions, tools: readonly ToolParts[]) {
  const network = nameInTarget(target, NETWORKS, 'net');
  if (network !== undefined)
    return (client: KubeClient, namespace: string) => checkNetwork(client, namespace, network);
  for (const { check } of tools) {
    const about = check?.question?.(target, options);
    if (about) return about;
  }
  return undefined;
}

/** Checks pods and workloads with the installation of the cluster. */
async function reportLive(
  { client }: Cluster,
  given: CheckOptions,
  sites: readonly PodSite[],
  byDefault: string,
  tools: readonly ToolParts[],
): Promise<readonly CheckReport[]> {
  const installation = await ifReadable(readDeployment(client, given.operatorNamespace));
  const { options, decideOptions, set, rollout } = await liveTemplates(client, given, tools, installation);
  const general: CheckFinding[] = [];
  if (installation?.readyReplicas === 0) {
    const message = `no operator replica is ready: see kubectl --namespace ${options.operatorNamespace} describe pods`;
    general.push({ reason: 'no-replica', message });
  }
  const webhooks = await appliedWebhooks(client, options);
  const injecting = await Promise.all(tools.map(({ check }) => check?.injectsWithoutWebhook?.(client)));
  const dryRun = templateDryRun(client, systemClock, decideOptions.keys, byDefault);
  const objects = namespaceObjects(client, options.operatorNamespace);
  const reports: CheckReport[] = [];
  for (const site of sites) {
    const namespace = namespaceOf(site, byDefault);
    const report = await checkLive(site, {
      client,
      objects,
      dryRun,
      promoted: rollout?.promoted,
      decideOptions,
      state: { set },
      namespace,
      webhooks,
      policies: injecting.includes(true),
    });
    reports.push({ ...report, findings: [...general, ...report.findings] });
  }
  return reports;
}

export const setUpCommand: SetUpCommand = async (command, addOns) => {
  command.argument(
    '[target]',
    'a pod, workload, HTTPRoute, GRPCRoute or Network, such as deploy/web, pod/web-0, httproute/web or network/web',
  );
  command.argument('[name]', 'its name, if the target is a kind alone, as in deploy web');
  command
    .option('--all', 'all workloads and standalone pods in the namespace')
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption('text', 'json', 'yaml'));
  addScopeOptions(command, 'targets');
  addClusterOptions(command);
  for (const { check } of await toolsOf(addOns)) check?.addOptions?.(command);
};
