import type { CommandContext, SetUpCommand } from '../../../cli/add-on.ts';
import type { ExitCode } from '../../../cli/io/terminal.ts';
import { serveOption } from '../../../cli/options/serve-options.ts';
import { podTemplateOption } from '../../../cli/options/tool-options.ts';
import { type Keys, keysFor } from '../../../injection/keys.ts';
import { describeObject, type PodTemplateRule } from '../../../injection/podspec/workload.ts';
import { type UninjectResult, uninjectManifests } from '../manifests.ts';
import { addInputOptions, type InputOptions, rewriteFiles } from './rewrite-files.ts';

interface UninjectOptions extends InputOptions {
  readonly annotation: string;
  readonly podTemplatePath?: readonly PodTemplateRule[];
}

/** Prints the manifests as they were before inject. Needs no cluster and no template. */
export async function run({ terminal }: CommandContext, options: UninjectOptions): Promise<ExitCode> {
  const keys = keysFor(options.annotation);
  const files = await rewriteFiles(
    terminal,
    options,
    async () => (input) => uninjectManifests(input, keys, options.podTemplatePath ?? []),
  );
  const results = files.flatMap((file) => file.results);
  for (const { site, outcome } of results) {
    terminal.err(`${describeObject(site.object)}: ${describeOutcome(outcome, keys)}\n`);
  }
  return results.some(({ outcome }) => outcome === 'unreadable') ? 1 : 0;
}

function describeOutcome(outcome: UninjectResult['outcome'], keys: Keys): string {
  if (outcome === 'restored') return 'sidecar removed';
  if (outcome === 'untouched') return 'was not injected';
  return `not changed: annotation ${keys.status} cannot be read: recreate the object from its source`;
}

export const setUpCommand: SetUpCommand = (command) =>
  addInputOptions(command, 'manifest files, YAML or JSON')
    .addOption(podTemplateOption())
    .addOption(serveOption('annotation'));
