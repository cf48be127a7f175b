import { Option } from 'commander';
import type { CommandContext, SetUpCommand } from '../../../cli/add-on.ts';
import type { ExitCode } from '../../../cli/io/terminal.ts';
import { text } from '../../../cli/options/option-values.ts';
import {
  addClusterOptions,
  type ClusterOptions,
  namespaceOption,
  podTemplateOption,
} from '../../../cli/options/tool-options.ts';
import { templatesOf } from '../../../cli/template-source.ts';
import { keysFor } from '../../../injection/keys.ts';
import {
  describeObject,
  type PodSite,
  type PodTemplateRule,
  typeOf,
} from '../../../injection/podspec/workload.ts';
import { explain } from '../../../injection/rules/index.ts';
import { isObject, type JsonObject, own } from '../../../util/json.ts';
import { type InjectManifestsOptions, injectManifests, type SiteResult } from '../manifests.ts';
import { addInputOptions, type InputOptions, rewriteFiles } from './rewrite-files.ts';

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

/** The path of the spec that the pod or pod template of an object lacks, such as `spec.template.spec`. */
export function missingSpec({ path, pod }: PodSite): string | undefined {
  if (isObject(own(pod, 'spec'))) return undefined;
  // Of the path in the document, the part in the object begins after the items of Lists.
  const inObject = path.slice(path.findLastIndex((segment) => typeof segment === 'number') + 1);
  return [...inObject, 'spec'].join('.');
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
