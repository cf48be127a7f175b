import {
  configurationFaults,
  holdsWeights,
  isBootstrapKey,
} from '../../injection/envoy/configuration-faults.ts';
import { readConfigMapTexts } from '../../injection/template/template-file.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../../injection/template/template-set.ts';
import { UsageError } from '../../kube/util/errors.ts';
import { type CommandContext, type SetUpCommand, toolsOf } from '../add-on.ts';
import { type OutputFormat, outputOption } from '../io/output.ts';
import { type ExitCode, nameOfInput, readInput, type Terminal } from '../io/terminal.ts';
import { serveOption } from '../options/serve-options.ts';
import { operatorNamespaceOption } from '../options/tool-options.ts';
import { type FileDiagnostic, inFile, reportFindings, templateTexts } from '../template-source.ts';

interface LintOptions {
  readonly envoy?: boolean;
  readonly annotation: string;
  readonly operatorNamespace: string;
  readonly output: OutputFormat;
}

/** Prints the faults of templates that the webhook would find, with their places. */
export async function run(
  { terminal, addOns }: CommandContext,
  files: readonly string[],
  options: LintOptions,
): Promise<ExitCode> {
  if (options.envoy) return lintEnvoy(files, options.output, terminal);
  const tools = await toolsOf(addOns);
  const findings: FileDiagnostic[] = [];
  const good: TemplateSet[] = [];
  for (const file of files) {
    const name = nameOfInput(file);
    for (const source of await templateTexts(terminal, file)) {
      const parsed = parseTemplateConfigMap(source.data);
      if ('set' in parsed) good.push(parsed.set);
      const found = 'faults' in parsed ? parsed.faults : parsed.advice;
      findings.push(...found.map((each) => inFile(name, source, each)));
    }
  }
  if (findings.some(({ path }) => path === 'static_resources'))
    terminal.err("this looks like Envoy's own configuration: use --envoy\n");
  return reportFindings(terminal, options.output, findings, () =>
    [
      `no problems: ${templatesOf(good)}`,
      ...good.flatMap((set) => tools.flatMap(({ lint }) => lint?.(set, options) ?? [])),
    ].join('\n'),
  );
}

function templatesOf(good: readonly TemplateSet[]): string {
  const names = good.flatMap(({ templates }) => [...templates.keys()].map((name) => `"${name}"`));
  return `${names.length === 1 ? 'template' : 'templates'} ${names.join(', ')}`;
}

/** The key for a file that is itself a bootstrap of Envoy. JSON is also YAML. */
const BARE_KEY = 'envoy.yaml';

/**
 * Checks Envoy's configuration and the weights of canaries by the rules that the webhook warns by. Envoy itself can validate
 * the rest.
 */
async function lintEnvoy(
  files: readonly string[],
  format: OutputFormat,
  terminal: Terminal,
): Promise<ExitCode> {
  const findings: FileDiagnostic[] = [];
  const good: string[] = [];
  for (const file of files) {
    const name = nameOfInput(file);
    const sources = readConfigMapTexts(await readInput(terminal, file), BARE_KEY, () => true);
    const before = findings.length + good.length;
    for (const source of sources) {
      const { data } = source;
      const found = configurationFaults(data);
      findings.push(...found.map((fault) => inFile(name, source, fault)));
      if (holdsWeights(data)) good.push(...(found.length === 0 ? ['weights'] : []));
      else {
        const isFine = (key: string) => isBootstrapKey(key) && !found.some((fault) => fault.source === key);
        good.push(
          ...Object.keys(data)
            .filter(isFine)
            .map((key) => (key === BARE_KEY ? name : key)),
        );
      }
    }
    if (findings.length + good.length === before) {
      throw new UsageError(
        `${name} has no Envoy configuration: use a ConfigMap with a file such as envoy.json, or with weights`,
      );
    }
  }
  return reportFindings(terminal, format, findings, () => `no problems: ${good.join(', ')}`);
}

export const setUpCommand: SetUpCommand = (command) =>
  command
    .argument('<file...>', 'ConfigMap manifests or templates; - for standard input')
    .option('--envoy', "check Envoy's configuration and the weights of canaries instead")
    .addOption(operatorNamespaceOption())
    .addOption(serveOption('annotation'))
    .addOption(outputOption('text', 'json', 'yaml'));
