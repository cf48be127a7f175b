import { type Command, Option } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { ownNamespace } from '../kube/client/own-namespace.ts';
import { LOG_LEVELS } from '../kube/manager/logger.ts';
import { DEFAULT_KEY } from '../sidecar/keys.ts';
import {
  bool,
  count,
  dnsName,
  duration,
  largestNetworks,
  namespaceList,
  networkRanges,
  oneOf,
  port,
  qualifiedName,
  rangeList,
  text,
  url,
} from './option-values.ts';

/** One option: how its text is read, its text by default (none: undefined), and what it is for. */
interface OptionSpec<T> {
  readonly parse: (text: string) => T;
  readonly default?: string | (() => string);
  readonly help: string;
  /** How the value is named in the help; none for a switch. */
  readonly value?: string;
}

const SERVE_OPTIONS = {
  kubeconfig: {
    parse: text,
    value: 'file',
    help: 'kubeconfig to use outside a cluster (default: $KUBECONFIG, ~/.kube/config, or the pod itself)',
  },
  master: {
    parse: url,
    value: 'url',
    help: 'address of the API server, in place of the one in the kubeconfig',
  },
  namespace: {
    parse: dnsName,
    value: 'name',
    default: ownNamespace,
    help: "the operator's namespace: of the template and the lease",
  },
  configmap: {
    parse: dnsName,
    value: 'name',
    default: PROGRAM,
    help: 'ConfigMap that holds the template, in its key `config`',
  },
  annotation: {
    parse: qualifiedName,
    value: 'key',
    default: DEFAULT_KEY,
    help: 'label and annotation by which pods and namespaces opt in or out',
  },
  'initializer-name': {
    parse: dnsName,
    value: 'name',
    default: 'envoy.initializer.kubernetes.io',
    help: 'name of the webhook for pods that opt in themselves',
  },
  'require-annotation': { parse: bool, default: 'true', help: 'false: inject all pods that do not opt out' },
  port: { parse: port, value: 'port', default: '8443', help: 'port of the webhook (HTTPS); 0: any free one' },
  'metrics-port': {
    parse: port,
    value: 'port',
    default: '8080',
    help: 'port of /metrics, /healthz, /readyz and /debug (HTTP); 0: any free one',
  },
  'tls-cert-file': {
    parse: text,
    value: 'file',
    help: "the webhook's certificate chain (PEM), read again when it changes; without it, the operator keeps its own",
  },
  'tls-key-file': { parse: text, value: 'file', help: "the certificate's key (PEM)" },
  'client-ca-file': {
    parse: text,
    value: 'file',
    help: 'authorities (PEM) of the certificate by which the API server calls the webhook, read again when they change; without it, any client may call',
  },
  'webhook-url': {
    parse: url,
    value: 'url',
    help: 'where the API server finds the webhook outside the cluster: a name for the certificate that the operator keeps',
  },
  workers: { parse: count, value: 'n', default: '2', help: 'Networks reconciled at once' },
  resync: {
    parse: duration,
    value: 'duration',
    default: '30s',
    help: 'how often every Network is looked at again without a change',
  },
  'leader-elect': {
    parse: bool,
    default: 'true',
    help: 'reconcile Networks only while holding the lease; the webhook always answers',
  },
  'shutdown-delay': {
    parse: duration,
    value: 'duration',
    default: '5s',
    help: 'how long the webhook still answers once told to end, while others learn of it',
  },
  'shutdown-timeout': {
    parse: duration,
    value: 'duration',
    default: '40s',
    help: 'how long the whole shutdown may take; keep it below terminationGracePeriodSeconds (45 in deploy/base)',
  },
  'network-provider': {
    parse: oneOf('multus', 'neutron'),
    value: 'name',
    default: 'multus',
    help: 'what makes Networks real where they do not say: multus or neutron',
  },
  'node-agent-namespace': {
    parse: dnsName,
    value: 'name',
    help: 'namespace of the node agents, where they join the nodes: Networks of Multus span all of them (default: one node)',
  },
  'neutron-secret': {
    parse: dnsName,
    value: 'name',
    default: 'envoy-initializer-neutron',
    help: "Secret of the operator's namespace with OpenStack's clouds.yaml, for Networks of provider neutron",
  },
  'cluster-cidrs': {
    parse: rangeList,
    value: 'ranges',
    default: '',
    help: 'ranges that Networks must not meet, with commas between them, beside those that the cluster tells of',
  },
  'network-ranges': {
    parse: networkRanges,
    value: 'ranges',
    default: '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7',
    help: 'ranges, with commas between them, inside of which Networks of Multus must be',
  },
  'network-largest': {
    parse: largestNetworks,
    value: 'lengths',
    default: '16,48',
    help: 'shortest prefixes, of IPv4 and of IPv6, that Networks of Multus may have: how large they may be',
  },
  'shared-network-namespaces': {
    parse: namespaceList,
    value: 'names',
    default: '',
    help: "namespaces, with commas between them, whose Networks pods of any namespace may use; '*': all",
  },
  repair: {
    parse: oneOf('off', 'report', 'evict'),
    value: 'mode',
    default: 'report',
    help: 'pods that were admitted without their sidecar: off (not looked for), report, or evict (so that new ones get it)',
  },
  'repair-window': {
    parse: duration,
    value: 'duration',
    default: '15m',
    help: 'how old a pod may be that is evicted',
  },
  policy: {
    parse: oneOf('auto', 'off'),
    value: 'mode',
    default: 'auto',
    help: 'auto: the API server injects by itself what it can (Kubernetes 1.36); off: the webhook does it all',
  },
  'log-level': {
    parse: oneOf(...LOG_LEVELS),
    value: 'level',
    default: 'info',
    help: 'debug, info, warn or error',
  },
  'log-format': {
    parse: oneOf('json', 'pretty'),
    value: 'format',
    default: 'json',
    help: 'json (for programs) or pretty (for people)',
  },
} as const satisfies Record<string, OptionSpec<unknown>>;

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

type Parsed<S extends OptionSpec<unknown>> = S extends { readonly default: string | (() => string) }
  ? ReturnType<S['parse']>
  : ReturnType<S['parse']> | undefined;

/** The options of `serve`, parsed; durations in milliseconds. */
export type ServeOptions = {
  readonly [K in keyof typeof SERVE_OPTIONS as Camel<K>]: Parsed<(typeof SERVE_OPTIONS)[K]>;
};

/**
 * Adds the flags of `serve` to its command. Each is an environment variable too: `--log-level`, `INITIALIZER_LOG_LEVEL`.
 * Not `ENVOY_INITIALIZER_…`: for the Service of that name, Kubernetes itself sets `ENVOY_INITIALIZER_PORT` in every pod of
 * the namespace, to `tcp://10.96.0.1:443`.
 */
export function addServeOptions(command: Command): Command {
  for (const name of Object.keys(SERVE_OPTIONS)) command.addOption(serveOption(name as ServeOptionName));
  return command;
}

type ServeOptionName = keyof typeof SERVE_OPTIONS;

/** One of the flags of `serve`, for the commands that have it too. */
export function serveOption(name: ServeOptionName): Option {
  const spec: OptionSpec<unknown> = SERVE_OPTIONS[name];
  const option = new Option(`--${name} ${spec.value ? `<${spec.value}>` : '[true|false]'}`, spec.help)
    .env(`INITIALIZER_${name.replaceAll('-', '_').toUpperCase()}`)
    .argParser(spec.parse);
  if (!spec.value) option.preset('true');
  const byDefault = typeof spec.default === 'function' ? spec.default() : spec.default;
  if (byDefault !== undefined) option.default(spec.parse(byDefault), byDefault);
  return option;
}
