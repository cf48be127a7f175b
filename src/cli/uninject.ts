import type { Command } from 'commander';
import { describeObject, type PodTemplateRule } from '../podspec/workload.ts';
import { keysFor } from '../sidecar/keys.ts';
import { uninjectManifests } from '../sidecar/manifests/uninject-manifests.ts';
import { rewriteFiles } from './rewrite-files.ts';
import { serveOption } from './serve-options.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import { filenameOption, podTemplateOption } from './tool-options.ts';

export interface UninjectOptions {
  readonly filename: readonly string[];
  readonly annotation: string;
  readonly podTemplatePath?: readonly PodTemplateRule[];
}

export function addUninjectOptions(command: Command): Command {
  return command
    .addOption(filenameOption('manifests, YAML or JSON; - for standard input').makeOptionMandatory())
    .addOption(podTemplateOption())
    .addOption(serveOption('annotation'));
}

/** Prints the manifests as they were before inject. Needs no cluster and no template. */
export async function uninjectCommand(options: UninjectOptions, terminal: Terminal): Promise<ExitCode> {
  const keys = keysFor(options.annotation);
  const results = await rewriteFiles(terminal, options.filename, (input) =>
    uninjectManifests(input, keys, options.podTemplatePath ?? []),
  );
  for (const { site, restored } of results) {
    terminal.err(`${describeObject(site.object)}: ${restored ? 'sidecar removed' : 'was not injected'}\n`);
  }
  return 0;
}
