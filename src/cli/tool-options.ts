import { type Command, InvalidArgumentError, Option } from 'commander';
import { ownNamespace } from '../kube/client/own-namespace.ts';
import { type PodTemplateRule, parseTemplatePath } from '../podspec/workload.ts';
import { dnsName } from './option-values.ts';
import { serveOption } from './serve-options.ts';

/** Where the live installation is, for the commands for people. */
export interface ClusterOptions {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly operatorNamespace: string;
  readonly configmap: string;
  readonly annotation: string;
}

/**
 * Adds the flags that say where the cluster and the installation are. They share their environment variables with
 * `serve`. `--namespace` has its meaning in kubectl, so the operator's namespace is another flag.
 */
export function addClusterOptions(command: Command): Command {
  return command
    .addOption(serveOption('kubeconfig'))
    .addOption(serveOption('master'))
    .addOption(operatorNamespaceOption())
    .addOption(serveOption('configmap'))
    .addOption(serveOption('annotation'));
}

export function operatorNamespaceOption(): Option {
  return new Option('--operator-namespace <name>', 'namespace of the operator and its template')
    .env('INITIALIZER_NAMESPACE')
    .argParser(dnsName)
    .default(ownNamespace());
}

/** Requires `-f`, but after commander has reported unknown flags. */
export function requireFilename(command: Command): void {
  if (command.opts().filename === undefined) {
    command.error(
      "error: option '-f, --filename <file>' is missing: use -f FILE, or -f - for standard input",
    );
  }
}

export function namespaceOption(help: string): Option {
  return new Option('-n, --namespace <name>', help).argParser(dnsName);
}

/** `--pod-template-path`, which can be repeated. */
export function podTemplateOption(): Option {
  return new Option(
    '--pod-template-path <kind=path>',
    'path of a pod template in another kind, such as Gang=spec.template or Gang.example.com/v1=spec.roles[].template; * stands for every key',
  ).argParser((value, rules: readonly PodTemplateRule[] = []) => [...rules, podTemplateRule(value)]);
}

function podTemplateRule(value: string): PodTemplateRule {
  const [, kind, group, version, steps = ''] =
    /^([A-Z][A-Za-z0-9]*)(?:\.([a-z0-9.-]+)(?:\/([a-z0-9]+))?)?=(.+)$/.exec(value) ?? [];
  const path = parseTemplatePath(steps.replace(/^\./, ''));
  if (kind === undefined || path === undefined) {
    throw new InvalidArgumentError(
      'Use a kind and a path such as Gang=spec.template or Gang=spec.roles[].template.',
    );
  }
  return { kind, group, version, path };
}
