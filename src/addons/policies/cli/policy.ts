import type { CommandContext, SetUpCommand } from '../../../cli/add-on.ts';
import { formatManifests, outputOption } from '../../../cli/io/output.ts';
import type { ExitCode } from '../../../cli/io/terminal.ts';
import { serveOption } from '../../../cli/options/serve-options.ts';
import { addTemplateFile, operatorNamespaceOption } from '../../../cli/options/tool-options.ts';
import { templatesOfFile } from '../../../cli/template-source.ts';
import { keysFor } from '../../../injection/keys.ts';
import type { SelectionFlags } from '../../../operator/configuration-mismatch.ts';
import { compilePolicies } from '../compile.ts';

interface PolicyCommandOptions extends SelectionFlags {
  readonly filename: string;
  readonly operatorNamespace: string;
  readonly output: 'json' | 'yaml';
}

/** Prints the admission policies of a template, and on standard error what they do not cover. */
export async function run({ terminal }: CommandContext, options: PolicyCommandOptions): Promise<ExitCode> {
  const set = await templatesOfFile(terminal, options.filename);
  const { objects, left } = compilePolicies(set, {
    keys: keysFor(options.annotation),
    requireAnnotation: options.requireAnnotation,
    operatorNamespace: options.operatorNamespace,
    name: options.initializerName,
    alone: true,
  });
  terminal.out(formatManifests(options.output, objects));
  for (const sentence of left) terminal.err(`${sentence}\n`);
  return objects.length > 0 ? 0 : 1;
}

export const setUpCommand: SetUpCommand = (command) =>
  addTemplateFile(command)
    .addOption(serveOption('annotation'))
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(operatorNamespaceOption())
    .addOption(outputOption('yaml', 'json'));
