import { type Command, Option } from 'commander';
import { checkRoute } from '../../addons/routes/cli/check-route.ts';
import {
  type AskedRequest,
  checkRequest,
  formatRouteReport,
  parseHeader,
  parseMethod,
  parseUrl,
  ROUTE_REPORT_COLUMNS,
  type RouteReport,
  routeTarget,
} from '../../addons/routes/cli/check-routes.ts';
import { keysFor } from '../../injection/keys.ts';
import { namespaceOf, namespacesIn } from '../../injection/manifests/inject-manifests.ts';
import { type PodSite, type PodTemplateRule, podSites } from '../../injection/podspec/workload.ts';
import { strayKeys } from '../../injection/stray-keys.ts';
import { isNotFound } from '../../kube/api/api-error.ts';
import { NAMESPACES } from '../../kube/api/core-resources.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { NETWORK_ANNOTATION } from '../../networks/api/names.ts';
import type { JsonObject } from '../../util/json.ts';
import { withCluster } from '../cluster.ts';
import { addInputOptions, hasInput, type InputOptions, readInputs } from '../io/input-files.ts';
import { type OutputFormat, outputOption, printOutput } from '../io/output.ts';
import { readObjects, warnOfDuplicates } from '../io/rewrite-files.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { oneOf, text } from '../options/option-values.ts';
import { serveOption } from '../options/serve-options.ts';
import {
  addClusterOptions,
  addScopeOptions,
  type ClusterOptions,
  podTemplateOption,
} from '../options/tool-options.ts';
import { preinstallCommand } from '../status/preinstall.ts';
import { OVERLAYS, type Overlay } from '../status/preinstall-rows.ts';
import { templatesOfFile } from '../template-source.ts';
import { checkNetwork, networkTarget } from './check-network.ts';
import { type CheckReport, formatReport, formatReports, REPORT_COLUMNS, reportOf } from './check-report.ts';
import { checkOffline } from './check-site.ts';
import { getTarget, OTHER_KINDS, parseTarget, workloadsIn } from './check-target.ts';
import { decideOptions, reportLive } from './report-live.ts';

export interface CheckOptions extends ClusterOptions, InputOptions {
  readonly namespace?: string;
  readonly template?: string;
  readonly output: OutputFormat;
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
  readonly podTemplatePath?: readonly PodTemplateRule[];
  readonly to?: URL;
  readonly method?: string;
  readonly header?: readonly string[];
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly pre?: boolean;
  readonly overlay?: readonly Overlay[];
}

export function addCheckOptions(command: Command): Command {
  command.argument(
    '[target]',
    'a pod, workload, HTTPRoute or Network, such as deploy/web, pod/web-0, httproute/web or network/web',
  );
  command.argument('[name]', 'its name, if the target is a kind alone, as in deploy web');
  addInputOptions(command, 'manifests to check instead of a target')
    .option('--all', 'all workloads and standalone pods of the namespace')
    .option('--pre', 'whether the operator can be installed in the cluster')
    .addOption(
      new Option(
        '--overlay <names>',
        'with --pre: overlays to install, such as "networks rollout"; can be repeated',
      )
        .choices(OVERLAYS)
        .argParser((list, names: readonly Overlay[] = []) => [
          ...names,
          ...list.split(/[\s,]+/).map(oneOf(...OVERLAYS)),
        ]),
    )
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
    .addOption(
      new Option('-X, --method <name>', 'method of the request (default: GET)').argParser(parseMethod),
    )
    .addOption(
      new Option(
        '-H, --header <line>',
        'header of the request, such as "version: 2"; can be repeated',
      ).argParser((line, lines: readonly string[] = []) => [...lines, parseHeader(line)]),
    )
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption('text', 'table', 'wide', 'name', 'json', 'yaml'));
  addScopeOptions(command, 'targets');
  return addClusterOptions(command);
}

/** Prints why a pod, a workload or the objects of a file are injected or not, and how to solve problems. */
export async function checkCommand(
  kind: string | undefined,
  name: string | undefined,
  options: CheckOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  if (name?.includes('/'))
    throw new UsageError(
      `expected one target, got ${kind} and ${name}: check one after the other, or use --all`,
    );
  const target = name === undefined ? kind : `${kind}/${name}`;
  if (options.overlay && !options.pre) throw new UsageError('--overlay works with --pre only: add it');
  if (options.to === undefined && (options.method ?? options.header))
    throw new UsageError('--method and --header work with --to only: add --to URL');
  if (options.pre) {
    if (target !== undefined || hasInput(options))
      throw new UsageError('--pre checks the cluster: leave out the target and -f');
    return await preinstallCommand(options, terminal);
  }
  if (options.all || options.allNamespaces) {
    if (target !== undefined || hasInput(options))
      throw new UsageError('--all and --all-namespaces check all workloads: leave out the target and -f');
    return await checkAll(options, terminal);
  }
  if (options.selector !== undefined)
    throw new UsageError('--selector works with --all or --all-namespaces: add one of them');
  if (target === undefined && !hasInput(options)) {
    throw new UsageError('nothing to check: use a target such as deploy/web, --all, or -f FILE');
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
      list: { rows: [report], columns: ROUTE_REPORT_COLUMNS, nameOf: ({ object }) => object },
    });
    return findings.length > 0 ? 1 : 0;
  }
  const reports =
    target === undefined ? await checkFiles(options, terminal) : await checkTarget(target, options);
  return printReports(terminal, options.output, reports, reports.flatMap(formatReport));
}

function printReports(
  terminal: Terminal,
  format: OutputFormat,
  reports: readonly CheckReport[],
  lines: readonly string[],
): ExitCode {
  printOutput(terminal, format, {
    value: JSON.parse(JSON.stringify(reports)),
    lines,
    list: { rows: reports, columns: REPORT_COLUMNS, nameOf: ({ object }) => object },
  });
  return reports.some(({ findings }) => findings.length > 0) ? 1 : 0;
}

/** Checks all workloads of a namespace, or of all. For people it prints those with findings, and the numbers. */
async function checkAll(options: CheckOptions, terminal: Terminal): Promise<ExitCode> {
  const reports = await withCluster(options, async (cluster) => {
    const namespace = options.allNamespaces ? undefined : (options.namespace ?? cluster.namespace);
    const sites: PodSite[] = [];
    for await (const object of workloadsIn(cluster.client, { namespace, labelSelector: options.selector }))
      sites.push(...podSites(object));
    if (sites.length === 0 && namespace !== undefined) await mustExist(cluster.client, namespace);
    return await reportLive(cluster, options, sites, namespace ?? cluster.namespace, true);
  });
  return printReports(terminal, options.output, reports, formatReports(reports));
}

/** @throws ApiError if there is no such namespace. Users who may not read it get no error. */
async function mustExist(client: KubeClient, namespace: string): Promise<void> {
  await client.get(NAMESPACES, { name: namespace }).catch((cause: unknown) => {
    if (isNotFound(cause)) throw cause;
  });
}

/** The question about routes or a Network that the target and `--to` are; undefined if they are none. */
function routeQuestion(
  target: string | undefined,
  { to, method = 'GET', header: headers = [], annotation }: CheckOptions,
): ((client: KubeClient, namespace: string) => Promise<RouteReport>) | undefined {
  const route = target === undefined ? undefined : routeTarget(target);
  const network = target === undefined ? undefined : networkTarget(target);
  if (to === undefined) {
    if (network !== undefined) return (client, namespace) => checkNetwork(client, namespace, network);
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
  const parsed = parseTarget(target, OTHER_KINDS);
  return await withCluster(options, async (cluster) => {
    const namespace = options.namespace ?? cluster.namespace;
    const object = await getTarget(cluster.client, namespace, parsed).catch((cause: unknown) => {
      if (isNotFound(cause))
        throw new UsageError(`${target} does not exist in namespace ${namespace}`, { cause });
      throw cause;
    });
    const sites = [...podSites(object)];
    return withStrays(await reportLive(cluster, options, sites, namespace, true), sites, [object], options);
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
  if (sites.length === 0 && withStrays([], [], documents, options).length === 0)
    throw new UsageError('the files contain no pod and no workload: use a file that has one');
  if (options.template === undefined) {
    return await withCluster(options, async (cluster) => {
      const reports = await reportLive(
        cluster,
        options,
        sites,
        options.namespace ?? cluster.namespace,
        false,
      );
      return withStrays(reports, sites, documents, options);
    });
  }
  const state = { set: await templatesOfFile(terminal, options.template) };
  const settingsOf = namespacesIn(documents, keysFor(options.annotation), options.namespace ?? 'default');
  const reports = sites.map((site) => {
    const namespace = namespaceOf(site, options.namespace ?? 'default');
    return checkOffline(site, {
      decide: decideOptions(options),
      state,
      namespace,
      settings: settingsOf(namespace),
    });
  });
  return withStrays(reports, sites, documents, options);
}

/** The reports of the sites, with what their documents ask for without effect. */
function withStrays(
  reports: readonly CheckReport[],
  sites: readonly PodSite[],
  documents: readonly JsonObject[],
  { annotation, podTemplatePath = [], namespace = 'default' }: CheckOptions,
): readonly CheckReport[] {
  const all = [...reports];
  for (const [object, message] of strayKeys(documents, podTemplatePath, keysFor(annotation), [
    NETWORK_ANNOTATION,
  ])) {
    const finding = { reason: 'opt-in-mistake', message };
    const index = sites.findIndex((site) => site.object === object);
    const found = all[index];
    if (found) all[index] = { ...found, findings: [...found.findings, finding] };
    else all.push(reportOf(object, namespace, finding));
  }
  return all;
}
