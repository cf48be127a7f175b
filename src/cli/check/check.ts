import { type Command, Option } from 'commander';
import { TemplateProver } from '../../injector/template-proof.ts';
import type { JsonObject } from '../../json/json.ts';
import { isForbidden, isNotFound } from '../../kube/api/api-error.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { systemClock } from '../../kube/workqueue/clock.ts';
import { type PodSite, type PodTemplateRule, podSites } from '../../podspec/workload.ts';
import { keysFor } from '../../sidecar/keys.ts';
import { namespaceOf, namespacesIn } from '../../sidecar/manifests/inject-manifests.ts';
import type { TemplateSet } from '../../sidecar/template/template-set.ts';
import { withCluster } from '../cluster.ts';
import { addInputOptions, hasInput, type InputOptions, readInputs } from '../input-files.ts';
import { followInstallation, type Installation, installationOf } from '../installation.ts';
import { text } from '../option-values.ts';
import { type OutputFormat, outputOption, printOutput } from '../output.ts';
import { readObjects, warnOfDuplicates } from '../rewrite-files.ts';
import { readRevisions } from '../rollout/read-revisions.ts';
import { serveOption } from '../serve-options.ts';
import { templatesOfCluster, templatesOfFile } from '../template-source.ts';
import type { ExitCode, Terminal } from '../terminal.ts';
import {
  addClusterOptions,
  type ClusterOptions,
  namespaceOption,
  podTemplateOption,
} from '../tool-options.ts';
import { type CheckFinding, type CheckReport, formatReport } from './check-report.ts';
import { checkRoute } from './check-route.ts';
import {
  type AskedRequest,
  checkRequest,
  formatRouteReport,
  parseUrl,
  type RouteReport,
  routeTarget,
} from './check-routes.ts';
import { checkLive, checkOffline } from './check-site.ts';
import { getTarget, parseTarget } from './check-target.ts';
import { appliedPolicies, appliedWebhooks } from './check-webhook.ts';

export interface CheckOptions extends ClusterOptions, InputOptions {
  readonly namespace?: string;
  readonly template?: string;
  readonly output: OutputFormat;
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
  readonly podTemplatePath?: readonly PodTemplateRule[];
  readonly to?: URL;
  readonly method: string;
  readonly header?: readonly string[];
}

export function addCheckOptions(command: Command): Command {
  command.argument(
    '[target]',
    'a pod, workload or HTTPRoute, such as deploy/web, pod/web-0 or httproute/web',
  );
  addInputOptions(command, 'manifests to check instead of a target')
    .addOption(namespaceOption("namespace of the target (default: the kubeconfig's)"))
    .addOption(
      new Option(
        '--template <file>',
        'template for the files of -f, instead of the live ConfigMap; needs no cluster',
      ).argParser(text),
    )
    .addOption(podTemplateOption())
    .addOption(
      new Option('--to <url>', 'which rule takes a request of the target, a pod, to this URL').argParser(
        parseUrl,
      ),
    )
    .addOption(new Option('-X, --method <name>', 'method of the request').argParser(text).default('GET'))
    .addOption(
      new Option(
        '-H, --header <line>',
        'header of the request, such as "version: 2"; can be repeated',
      ).argParser((line, lines: readonly string[] = []) => [...lines, text(line)]),
    )
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption());
  return addClusterOptions(command);
}

/** Prints why a pod, a workload or the objects of a file are injected or not, and how to solve problems. */
export async function checkCommand(
  target: string | undefined,
  options: CheckOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  if (target === undefined && !hasInput(options)) {
    throw new UsageError('nothing to check: use a target such as deploy/web, or -f FILE');
  }
  if (target !== undefined && hasInput(options)) {
    throw new UsageError(`${target} and -f cannot be used together: use one of them`);
  }
  if (target !== undefined && options.template !== undefined) {
    throw new UsageError('--template works with files only: leave it out, or use -f FILE');
  }
  const about = routeQuestion(target, options);
  if (about) {
    const report = await withCluster(options, ({ client, namespace }) =>
      about(client, options.namespace ?? namespace),
    );
    const { findings } = report;
    printOutput(terminal, options.output, {
      value: JSON.parse(JSON.stringify([report])),
      lines: formatRouteReport(report),
    });
    return findings.length > 0 ? 1 : 0;
  }
  const reports =
    target === undefined ? await checkFiles(options, terminal) : await checkTarget(target, options);
  printOutput(terminal, options.output, {
    value: JSON.parse(JSON.stringify(reports)),
    lines: reports.flatMap(formatReport),
  });
  return reports.some(({ findings }) => findings.length > 0) ? 1 : 0;
}

/** The question about routes that the target and `--to` are; undefined if they are none. */
function routeQuestion(
  target: string | undefined,
  { to, method, header: headers = [], annotation }: CheckOptions,
): ((client: KubeClient, namespace: string) => Promise<RouteReport>) | undefined {
  const route = target === undefined ? undefined : routeTarget(target);
  if (to === undefined) {
    return route === undefined ? undefined : (client, namespace) => checkRoute(client, namespace, route);
  }
  const pod = target === undefined || route !== undefined ? undefined : parseTarget(target);
  if (pod?.workload.kind !== 'Pod') {
    throw new UsageError('--to works with a pod only: use a target such as pod/web-0');
  }
  const { name } = pod;
  const request: AskedRequest = { to, method, headers };
  return (client, namespace) => checkRequest(client, namespace, name, request, keysFor(annotation));
}

async function checkTarget(target: string, options: CheckOptions): Promise<readonly CheckReport[]> {
  const parsed = parseTarget(target);
  return await withCluster(options, async (cluster) => {
    const namespace = options.namespace ?? cluster.namespace;
    const object = await getTarget(cluster.client, namespace, parsed).catch((cause: unknown) => {
      if (isNotFound(cause))
        throw new UsageError(`${target} does not exist in namespace ${namespace}`, { cause });
      throw cause;
    });
    return await reportLive(cluster, options, [...podSites(object)], namespace, true);
  });
}

async function checkFiles(options: CheckOptions, terminal: Terminal): Promise<readonly CheckReport[]> {
  const documents: JsonObject[] = [];
  for (const input of await readInputs(terminal, options)) {
    const items = readObjects(input);
    warnOfDuplicates(terminal, input);
    documents.push({ apiVersion: 'v1', kind: 'List', items });
  }
  const sites = documents.flatMap((document) => [...podSites(document, options.podTemplatePath)]);
  if (sites.length === 0)
    throw new UsageError('the files contain no pod and no workload: use a file that has one');
  if (options.template === undefined) {
    return await withCluster(options, (cluster) =>
      reportLive(cluster, options, sites, options.namespace ?? cluster.namespace, false),
    );
  }
  const state = { set: await templatesOfFile(terminal, options.template) };
  const settingsOf = namespacesIn(documents, keysFor(options.annotation));
  return sites.map((site) => {
    const namespace = namespaceOf(site, options.namespace ?? 'default');
    return checkOffline(site, {
      decide: decideOptions(options),
      state,
      namespace,
      settings: settingsOf(namespace),
    });
  });
}

async function reportLive(
  cluster: Parameters<Parameters<typeof withCluster>[1]>[0],
  given: CheckOptions,
  sites: readonly PodSite[],
  byDefault: string,
  exists: boolean,
): Promise<readonly CheckReport[]> {
  const installation = await installationOf(cluster.client, given.operatorNamespace);
  const options = followInstallation(given, installation);
  const state = { set: await templatesOfCluster(cluster, options) };
  const webhooks = await appliedWebhooks(cluster.client, options);
  const policies = await appliedPolicies(cluster.client);
  const { client } = cluster;
  const promoted = await promotedTemplates(client, options, state.set);
  const keys = keysFor(options.annotation);
  const prover = new TemplateProver({ client, clock: systemClock, keys, namespace: byDefault });
  const reports: CheckReport[] = [];
  for (const site of sites) {
    const namespace = namespaceOf(site, byDefault);
    const report = await checkLive(site, {
      client,
      prover,
      promoted,
      decide: decideOptions(options),
      state,
      namespace,
      webhooks,
      policies,
      exists,
    });
    const { findings } = report;
    reports.push({ ...report, findings: [...noReplica(installation, options), ...findings] });
  }
  return reports;
}

/** Undefined also if the user may not read revisions. */
async function promotedTemplates(
  client: KubeClient,
  options: CheckOptions,
  set: TemplateSet,
): Promise<TemplateSet | undefined> {
  if ((set.rollout?.mode ?? 'new-pods') === 'new-pods') return undefined;
  try {
    const revisions = await readRevisions(client, options, set, false);
    return revisions && revisions.promoted !== revisions.target ? revisions.promoted.set : undefined;
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/** A finding if the operator does not answer. */
function noReplica(
  installation: Installation | undefined,
  { operatorNamespace: namespace }: CheckOptions,
): readonly CheckFinding[] {
  if (installation === undefined || installation.readyReplicas > 0) return [];
  const message = `no replica of the operator is ready: see kubectl --namespace ${namespace} describe pods`;
  return [{ reason: 'no-replica', message }];
}

function decideOptions({ annotation, requireAnnotation, operatorNamespace }: CheckOptions) {
  return { keys: keysFor(annotation), requireAnnotation, operatorNamespace };
}
