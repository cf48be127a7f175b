import { refusals, refusedFields, trialPod } from '../../injection/dry-run-pod.ts';
import { keysFor } from '../../injection/keys.ts';
import type { TextSource } from '../../injection/manifests/template-file.ts';
import { parseTemplateSet, type TemplateSet, templateKey } from '../../injection/template/template-set.ts';
import { dryRunPod } from '../../kube/client/dry-run.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { type TextDiagnostic, textError } from '../../util/diagnostic.ts';
import { type SetUpCommand, type ToolParts, toolsOf } from '../add-on.ts';
import { type Cluster, withCluster } from '../cluster.ts';
import { type OutputFormat, outputOption } from '../io/output.ts';
import type { ExitCode } from '../io/terminal.ts';
import { nameOfInput, type Terminal } from '../io/terminal.ts';
import { addClusterOptions, type ClusterOptions, namespaceOption } from '../options/tool-options.ts';
import { liveConfigMap, templateTexts } from '../template-source.ts';
import { lintEnvoy } from './lint-envoy.ts';
import { type FileDiagnostic, inFile, reportFindings } from './lint-findings.ts';

interface LintOptions extends ClusterOptions {
  readonly server?: boolean;
  readonly envoy?: boolean;
  readonly namespace?: string;
  readonly output: OutputFormat;
}

/** Prints the faults of templates that the webhook would find, with their places. */
async function lintCommand(
  files: readonly string[],
  options: LintOptions,
  terminal: Terminal,
  tools: readonly ToolParts[],
): Promise<ExitCode> {
  if (options.envoy && options.server)
    throw new UsageError(
      '--server checks templates, not the configuration of Envoy: leave it out, or --envoy',
    );
  if (options.envoy) return lintEnvoy(files, options.output, terminal);
  const findings: FileDiagnostic[] = [];
  const good: (readonly [string, TextSource, TemplateSet])[] = [];
  const sources: NamedSource[] = files.length > 0 ? [] : [await liveSource(options)];
  for (const file of files)
    for (const source of await templateTexts(terminal, file)) sources.push([nameOfInput(file), source]);
  for (const [name, source] of sources) {
    const parsed = parseTemplateSet(source.data);
    if ('faults' in parsed) {
      findings.push(...parsed.faults.map((fault) => inFile(name, source, fault)));
      continue;
    }
    good.push([name, source, parsed.set]);
    findings.push(...parsed.advice.map((advice) => inFile(name, source, advice)));
  }
  if (options.server && good.length > 0) {
    findings.push(...(await withCluster(options, (cluster) => askServer(cluster, options, good))));
  }
  if (findings.some(({ path }) => path === 'static_resources'))
    terminal.err("this looks like Envoy's own configuration: use --envoy\n");
  return reportFindings(terminal, options.output, findings, () =>
    [
      `no problems: ${templatesOf(good)}`,
      ...good.flatMap(([, , set]) => tools.flatMap(({ lint }) => lint?.(set, options) ?? [])),
    ].join('\n'),
  );
}

/** A text, and its name in messages. */
type NamedSource = readonly [name: string, source: TextSource];

/** The live ConfigMap. Places are those in the texts of its keys. */
async function liveSource(options: LintOptions): Promise<NamedSource> {
  const instead = ', or name a FILE';
  const { data = {} } = await withCluster(
    options,
    ({ client }) => liveConfigMap(client, options, instead),
    instead,
  );
  const locate = ({ line = 1, column = 1 }: TextDiagnostic) => ({ line, column });
  return [`ConfigMap ${options.operatorNamespace}/${options.configmap}`, { data, locate }];
}

function templatesOf(good: readonly (readonly [string, TextSource, TemplateSet])[]): string {
  const names = good.flatMap(([, , { templates }]) => [...templates.keys()].map((name) => `"${name}"`));
  return `${names.length === 1 ? 'template' : 'templates'} ${names.join(', ')}`;
}

/** Sends a dry run for each template, with a pod that the API server accepts without it. */
async function askServer(
  { client, namespace }: Cluster,
  options: LintOptions,
  good: readonly (readonly [string, TextSource, TemplateSet])[],
): Promise<readonly FileDiagnostic[]> {
  const keys = keysFor(options.annotation);
  const findings: FileDiagnostic[] = [];
  for (const [file, source, set] of good) {
    for (const [name, template] of set.templates) {
      const key = templateKey(name);
      const report = (fault: TextDiagnostic) => findings.push(inFile(file, source, fault));
      const trial = trialPod(set, name, keys);
      if ('obstacle' in trial) {
        report(textError(key, trial.obstacle));
        continue;
      }
      const answer = await dryRunPod(client, options.namespace ?? namespace, trial.pod);
      if (answer.accepted) continue;
      const refused = refusedFields(template, trial.pod, answer.error);
      for (const fault of refusals(template, source.data[key] ?? '', refused)) report(fault);
    }
  }
  return findings;
}

export const setUpCommand: SetUpCommand = (command, { terminal, ended, addOns }) => {
  command
    .argument('[file...]', 'ConfigMap manifests or templates; - for standard input; none: the live ConfigMap')
    .option('--envoy', "check Envoy's configuration and the weights of canaries instead")
    .option('--server', 'also send the API server a dry run of a pod with each template')
    .addOption(namespaceOption("namespace of the dry run (default: the kubeconfig's)"))
    .addOption(outputOption('text', 'json', 'yaml'));
  addClusterOptions(command).action(async (files: string[], options: LintOptions) =>
    ended(await lintCommand(files, options, terminal, await toolsOf(addOns))),
  );
};
