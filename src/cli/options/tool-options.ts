import { type Command, InvalidArgumentError, Option } from 'commander';
import { type PodTemplateRule, parseTemplatePath } from '../../injection/podspec/workload.ts';
import type { ListOptions } from '../../kube/client/client.ts';
import type { KubeconfigOverrides } from '../../kube/client/kubeconfig/kubeconfig-fields.ts';
import { ownNamespace } from '../../kube/client/own-namespace.ts';
import { dnsName, requestTimeout, text } from './option-values.ts';
import { serveOption } from './serve-options.ts';

/** How to reach the API server, as in kubectl. */
export interface ConnectionOptions extends KubeconfigOverrides {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  /** Limit for one request, in milliseconds; undefined: the client's own. */
  readonly requestTimeout?: number | undefined;
}

/** Where the live installation is, for the commands for people. */
export interface ClusterOptions extends ConnectionOptions {
  readonly operatorNamespace: string;
  readonly configmap: string;
  readonly annotation: string;
}

/** The pods of a command: of one namespace, or of all. */
export interface ScopeOptions {
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** A label selector. */
  readonly selector?: string;
}

/** The same for a list. */
export type Scope = Pick<ListOptions, 'namespace' | 'labelSelector'>;

/** `byDefault`: the namespace of the kubeconfig. */
export function scopeOf({ namespace, allNamespaces, selector }: ScopeOptions, byDefault: string): Scope {
  return { namespace: allNamespaces ? undefined : (namespace ?? byDefault), labelSelector: selector };
}

/**
 * Adds the flags that say where the cluster and the installation are. They share their environment variables with
 * `serve`. `--namespace` has its meaning in kubectl, so the operator's namespace is another flag.
 */
export function addClusterOptions(command: Command): Command {
  return addConnectionOptions(command)
    .addOption(operatorNamespaceOption())
    .addOption(serveOption('configmap'))
    .addOption(serveOption('annotation'));
}

/** Adds kubectl's flags that choose the API server and the user. */
export function addConnectionOptions(command: Command): Command {
  const groups = new Option('--as-group <group>', 'group to impersonate; can be repeated').argParser(
    (group, groups: readonly string[] = []) => [...groups, text(group)],
  );
  const timeout = new Option(
    '--request-timeout <duration>',
    'timeout for one request, such as 5s or 5 (seconds) (default: 30s)',
  );
  return command
    .addOption(serveOption('kubeconfig'))
    .addOption(textOption('--context <name>', 'context in the kubeconfig'))
    .addOption(textOption('--cluster <name>', 'cluster in the kubeconfig'))
    .addOption(textOption('--user <name>', 'user in the kubeconfig'))
    .addOption(textOption('--as <user>', 'user to impersonate'))
    .addOption(groups)
    .addOption(serveOption('master'))
    .addOption(timeout.argParser(requestTimeout));
}

/** A flag with a text that is not empty. */
export function textOption(flags: string, help: string): Option {
  return new Option(flags, help).argParser(text);
}

/** Adds kubectl's flags that choose objects. `what` are these, such as pods. */
export function addScopeOptions(command: Command, what: string): Command {
  return command
    .addOption(
      namespaceOption(`namespace of the ${what} (default: the kubeconfig's)`).conflicts('allNamespaces'),
    )
    .addOption(new Option('-A, --all-namespaces', `the ${what} in all namespaces`))
    .addOption(textOption('-l, --selector <selector>', `the ${what} with these labels, such as app=web`));
}

export function operatorNamespaceOption(): Option {
  return new Option('--operator-namespace <name>', 'namespace of the operator and its template')
    .env('INITIALIZER_NAMESPACE')
    .argParser(dnsName)
    .default(ownNamespace());
}

/** Adds the flag for a file with a template, which the command needs. */
export function addTemplateFile(command: Command): Command {
  const option = new Option(FILENAME, 'ConfigMap manifest or template; - for standard input');
  const once = (file: string, earlier: string | undefined) => {
    if (earlier !== undefined) throw new InvalidArgumentError('This command reads one file: use -f once.');
    return text(file);
  };
  return requireFile(command.addOption(option.argParser(once)));
}

export const FILENAME = '-f, --filename <file>';

/** Requires `-f`, once commander has reported unknown flags. */
export function requireFile(command: Command): Command {
  return command.hook('preAction', (each) => {
    if (each.opts().filename === undefined)
      each.error(`error: option '${FILENAME}' is missing: use -f FILE, or -f - for standard input`);
  });
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
