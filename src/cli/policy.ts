import { type Command, Option } from 'commander';
import { printBlock } from '../json/yaml-edit/print.ts';
import { compilePolicies } from '../policies/compile.ts';
import { keysFor } from '../sidecar/keys.ts';
import { text } from './option-values.ts';
import { serveOption } from './serve-options.ts';
import { templatesOfFile } from './template-source.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import { operatorNamespaceOption, requireFilename } from './tool-options.ts';

export interface PolicyCommandOptions {
  readonly filename: string;
  readonly annotation: string;
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
  readonly operatorNamespace: string;
}

export function addPolicyOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-f, --filename <file>', 'ConfigMap manifest or template; - for standard input').argParser(
        text,
      ),
    )
    .hook('preAction', requireFilename)
    .addOption(serveOption('annotation'))
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(operatorNamespaceOption());
}

/** Prints the admission policies of a template, and on standard error what they do not cover. */
export async function policyCommand(options: PolicyCommandOptions, terminal: Terminal): Promise<ExitCode> {
  const set = await templatesOfFile(terminal, options.filename);
  const { objects, left } = compilePolicies(set, {
    keys: keysFor(options.annotation),
    requireAnnotation: options.requireAnnotation,
    operatorNamespace: options.operatorNamespace,
    name: options.initializerName,
    alone: true,
  });
  terminal.out(objects.map((object) => `${printBlock(object, false)}\n`).join('---\n'));
  for (const sentence of left) terminal.err(`${sentence}\n`);
  return objects.length > 0 ? 0 : 1;
}
