import type { Command } from 'commander';
import { compilePolicies } from '../policies/compile.ts';
import { optInPolicy } from '../policies/opt-in-policy.ts';
import { keysFor } from '../sidecar/keys.ts';
import { formatManifests, outputOption } from './io/output.ts';
import type { ExitCode, Terminal } from './io/terminal.ts';
import { serveOption } from './options/serve-options.ts';
import { addTemplateFile, operatorNamespaceOption } from './options/tool-options.ts';
import { templatesOfFile } from './template-source.ts';

export interface PolicyCommandOptions {
  readonly filename: string;
  readonly annotation: string;
  readonly initializerName: string;
  readonly requireAnnotation: boolean;
  readonly operatorNamespace: string;
  readonly output: 'json' | 'yaml';
}

export function addPolicyOptions(command: Command): Command {
  return addTemplateFile(command)
    .addOption(serveOption('annotation'))
    .addOption(serveOption('initializer-name'))
    .addOption(serveOption('require-annotation'))
    .addOption(operatorNamespaceOption())
    .addOption(outputOption('yaml', 'json'));
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
  const { annotation: key, initializerName: name } = options;
  const warnings = objects.length > 0 ? optInPolicy(`opt-in.${name}`, { key, warnsPods: true }) : [];
  terminal.out(formatManifests(options.output, [...objects, ...warnings]));
  for (const sentence of left) terminal.err(`${sentence}\n`);
  return objects.length > 0 ? 0 : 1;
}
