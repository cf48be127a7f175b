import { parseTemplateConfigMap, type TemplateSet } from '../../injection/template/template-set.ts';
import { type SetUpCommand, type ToolParts, toolsOf } from '../add-on.ts';
import { type OutputFormat, outputOption } from '../io/output.ts';
import { type ExitCode, nameOfInput, type Terminal } from '../io/terminal.ts';
import { serveOption } from '../options/serve-options.ts';
import { operatorNamespaceOption } from '../options/tool-options.ts';
import { templateTexts } from '../template-source.ts';
import { lintEnvoy } from './lint-envoy.ts';
import { type FileDiagnostic, inFile, reportFindings } from './lint-findings.ts';

interface LintOptions {
  readonly envoy?: boolean;
  readonly annotation: string;
  readonly operatorNamespace: string;
  readonly output: OutputFormat;
}

/** Prints the faults of templates that the webhook would find, with their places. */
async function lintCommand(
  files: readonly string[],
  options: LintOptions,
  terminal: Terminal,
  tools: readonly ToolParts[],
): Promise<ExitCode> {
  if (options.envoy) return lintEnvoy(files, options.output, terminal);
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

export const setUpCommand: SetUpCommand = (command, { terminal, ended, addOns }) => {
  command
    .argument('<file...>', 'ConfigMap manifests or templates; - for standard input')
    .option('--envoy', "check Envoy's configuration and the weights of canaries instead")
    .addOption(operatorNamespaceOption())
    .addOption(serveOption('annotation'))
    .addOption(outputOption('text', 'json', 'yaml'))
    .action(async (files: string[], options: LintOptions) =>
      ended(await lintCommand(files, options, terminal, await toolsOf(addOns))),
    );
};
