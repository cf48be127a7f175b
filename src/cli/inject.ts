import { Option } from 'commander';
import { keysFor } from '../injection/keys.ts';
import {
  type InjectManifestsOptions,
  injectManifests,
  type SiteResult,
} from '../injection/manifests/manifests.ts';
import { describeObject, missingSpec, type PodTemplateRule, typeOf } from '../injection/podspec/workload.ts';
import { explain } from '../injection/rules/index.ts';
import type { JsonObject } from '../util/json.ts';
import type { CommandContext, SetUpCommand } from './add-on.ts';
import { addInputOptions, type InputOptions, rewriteFiles } from './io/rewrite-files.ts';
import type { ExitCode } from './io/terminal.ts';
import { text } from './options/option-values.ts';
import {
  addClusterOptions,
  type ClusterOptions,
  namespaceOption,
  podTemplateOption,
} from './options/tool-options.ts';
import { templatesOf } from './template-source.ts';

interface InjectOptions extends ClusterOptions, InputOptions {
  readonly template?: string;
  readonly all?: boolean;
  readonly namespace?: string;
  readonly podTemplatePath?: readonly PodTemplateRule[];
}

/** Prints the manifests with their pods injected, and the result for each object on standard error. */
export async function run({ terminal }: CommandContext, options: InjectOptions): Promise<ExitCode> {
  const files = await rewriteFiles(terminal, options, async () => {
    const settings: InjectManifestsOptions = {
      decideOptions: {
        keys: keysFor(options.annotation),
        requireAnnotation: !options.all,
        operatorNamespace: options.operatorNamespace,
      },
      state: { set: await templatesOf(terminal, options) },
      namespace: options.namespace ?? 'default',
      podTemplates: options.podTemplatePath ?? [],
    };
    return (input) => injectManifests(input, settings);
  });
  const results = files.flatMap((file) => file.results);
  const lines = [...results.flatMap(report), ...files.flatMap(({ unknown }) => unknown.map(reportUnknown))];
  for (const line of lines) terminal.err(`${line}\n`);
  return results.some(isFinding) ? 1 : 0;
}

function report({ site, injection, notes, mistakes }: SiteResult): string[] {
  const name = describeObject(site.object);
  const hints = [...notes, ...mistakes].map((hint) => `${name}: note: ${hint}`);
  if (injection.outcome === 'injected') {
    const warnings = explain(injection.warnings);
    return [`${name}: injected`, ...warnings.map((line) => `${name}: warning: ${line}`), ...hints];
  }
  const missing = missingSpec(site);
  if (missing !== undefined) return [`${name}: not injected: ${missing} is missing`];
  const verb = injection.outcome === 'denied' ? 'the webhook would refuse it' : 'not injected';
  return [...explain(injection.skip.diagnostics).map((line) => `${name}: ${verb}: ${line}`), ...hints];
}

function reportUnknown(object: JsonObject): string {
  const type = typeOf(object);
  return `${describeObject(object)}: note: ${type} is an unknown kind, so its pod template is unchanged: use --pod-template-path ${type}=spec.template`;
}

/** Whether the webhook would warn or refuse, or something only looks like an opt-in. */
function isFinding({ site, injection, mistakes }: SiteResult): boolean {
  if (missingSpec(site) !== undefined) return true;
  const warned = injection.outcome === 'injected' ? injection.warnings.length > 0 : injection.skip.warn;
  return warned || mistakes.length > 0;
}

export const setUpCommand: SetUpCommand = (command) => {
  addInputOptions(command, 'manifest files, YAML or JSON')
    .addOption(
      new Option(
        '--template <file>',
        'file with a ConfigMap manifest or a template (default: the live ConfigMap)',
      )
        .env('INITIALIZER_TEMPLATE')
        .argParser(text),
    )
    .option('--all', 'also inject pods that do not opt in, except those that opt out')
    .addOption(namespaceOption('namespace of objects without one (default: default)'))
    .addOption(podTemplateOption());
  addClusterOptions(command);
};
