import type { Command } from 'commander';
import { describeObject, type PodTemplateRule } from '../podspec/workload.ts';
import { keysFor } from '../sidecar/keys.ts';
import { uninjectManifests } from '../sidecar/manifests/uninject-manifests.ts';
import { addInputOptions, type InputOptions } from './input-files.ts';
import { rewriteFiles } from './rewrite-files.ts';
import { serveOption } from './serve-options.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import { podTemplateOption } from './tool-options.ts';

export interface UninjectOptions extends InputOptions {
  readonly annotation: string;
  readonly podTemplatePath?: readonly PodTemplateRule[];
}

export function addUninjectOptions(command: Command): Command {
  return addInputOptions(command, 'manifests, YAML or JSON')
    .addOption(podTemplateOption())
    .addOption(serveOption('annotation'));
}

/** Prints the manifests as they were before inject. Needs no cluster and no template. */
export async function uninjectCommand(options: UninjectOptions, terminal: Terminal): Promise<ExitCode> {
  const keys = keysFor(options.annotation);
  const files = await rewriteFiles(terminal, options, (input) =>
    uninjectManifests(input, keys, options.podTemplatePath ?? []),
  );
  for (const { site, restored } of files.flatMap(({ results }) => results)) {
    terminal.err(`${describeObject(site.object)}: ${restored ? 'sidecar removed' : 'was not injected'}\n`);
  }
  return 0;
}
