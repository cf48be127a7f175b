import { type Command, Option } from 'commander';
import { DEFAULT_KEY } from '../../injection/keys.ts';
import { ownNamespace } from '../../kube/client/own-namespace.ts';
import { LOG_LEVELS } from '../../kube/manager/logger.ts';
import { PROGRAM } from '../../util/identity.ts';
import { suggest } from '../../util/suggest.ts';
import {
  bool,
  count,
  dnsName,
  duration,
  type FlagSpec,
  type FlagSpecs,
  file,
  largestNetworks,
  named,
  namespaceList,
  networkRanges,
  oneOf,
  type ParsedFlags,
  port,
  qualifiedName,
  rangeList,
  urlSuchAs,
} from './option-values.ts';

const SERVE_OPTIONS = {
  kubeconfig: {
    parse: file,
    help: "kubeconfig file (default: $KUBECONFIG, ~/.kube/config, or the pod's service account)",
  },
  master: {
    parse: urlSuchAs('https://127.0.0.1:6443'),
    help: 'address of the API server; overrides the kubeconfig',
  },
  namespace: {
    parse: dnsName,
    default: ownNamespace,
    help: "the operator's namespace, which holds the template and the lease",
  },
  configmap: { parse: dnsName, default: PROGRAM, help: 'ConfigMap with the template in its key `config`' },
  annotation: {
    parse: qualifiedName,
    default: DEFAULT_KEY,
    help: 'key of the label or annotation by which pods and namespaces opt in or out',
  },
  'initializer-name': {
    parse: dnsName,
    default: 'envoy.initializer.kubernetes.io',
    help: 'name of the webhook for pods with their own opt-in',
  },
  'require-annotation': { parse: bool, default: 'true', help: 'false: inject all pods that do not opt out' },
  port: { parse: port, default: '8443', help: 'port of the webhook (HTTPS); 0: any free port' },
  'metrics-port': {
    parse: port,
    default: '8080',
    help: 'port of /metrics, /healthz and /readyz (HTTP); 0: any free port',
  },
  'tls-cert-file': {
    parse: file,
    help: "the webhook's certificate chain (PEM), reloaded when it changes (default: the operator issues its own)",
  },
  'tls-key-file': { parse: file, help: "the certificate's key (PEM)" },
  'tls-ca-file': {
    parse: file,
    help: "the certificate's CAs (PEM), which the operator then writes to the caBundle (default: another program writes it)",
  },
  'client-ca-file': {
    parse: file,
    help: "CA certificates (PEM) of the API server's client certificate, reloaded when they change (default: any client may call the webhook)",
  },
  'webhook-url': {
    // The API server calls webhooks by HTTPS only.
    parse: urlSuchAs('https://webhook.example.com:8443', ['https:']),
    help: "URL of a webhook outside the cluster; the operator's own certificate then covers its host",
  },
  workers: { parse: count, default: '2', help: 'number of Networks to reconcile at once' },
  resync: {
    parse: duration,
    default: '30s',
    help: 'how often to reconcile every Network even without changes',
  },
  'leader-elect': {
    parse: bool,
    default: 'true',
    help: 'reconcile Networks only while holding the lease; the webhook always answers',
  },
  'shutdown-delay': {
    parse: duration,
    default: '5s',
    help: 'how long the webhook keeps answering after SIGTERM, for clients to switch replicas',
  },
  'shutdown-timeout': {
    parse: duration,
    default: '40s',
    help: 'time limit for the whole shutdown; keep it below terminationGracePeriodSeconds (45 in deploy/base)',
  },
  'network-provider': {
    parse: named('name', oneOf('multus', 'neutron')),
    default: 'multus',
    help: 'provider for Networks that do not set spec.provider: multus or neutron',
  },
  'node-agent-namespace': {
    parse: dnsName,
    help: 'namespace of the node agents that multus Networks need (default: no node agents)',
  },
  'cluster-cidrs': {
    parse: named('ranges', rangeList),
    default: '',
    help: 'comma-separated ranges that Networks must not overlap, in addition to those known from the cluster',
  },
  'network-ranges': {
    parse: named('ranges', networkRanges),
    default: '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7',
    help: 'comma-separated ranges that multus Networks must be in',
  },
  'network-largest': {
    parse: named('lengths', largestNetworks),
    default: '16,48',
    help: 'largest multus Networks, as the shortest prefix length for IPv4 and for IPv6',
  },
  'shared-network-namespaces': {
    parse: named('names', namespaceList),
    default: '',
    help: "comma-separated namespaces with Networks that all pods may use; '*': all",
  },
  'log-level': {
    parse: named('level', oneOf(...LOG_LEVELS)),
    default: 'info',
    help: 'debug, info, warn or error',
  },
  'log-format': {
    parse: named('format', oneOf('json', 'pretty')),
    default: 'json',
    help: 'json (for programs) or pretty (for people)',
  },
} as const satisfies FlagSpecs;

/** The options of `serve` of the core, parsed; durations in milliseconds. */
export type ServeOptions = ParsedFlags<typeof SERVE_OPTIONS>;

const PREFIX = 'INITIALIZER_';

/**
 * Adds the flags of `serve` to its command. Each is also an environment variable: `--log-level`,
 * `INITIALIZER_LOG_LEVEL`. The prefix is not `ENVOY_INITIALIZER_`: for the Service of that name, Kubernetes sets
 * `ENVOY_INITIALIZER_PORT` to `tcp://10.96.0.1:443` in every pod of the namespace.
 */
export function addServeOptions(command: Command, addOns: readonly { readonly flags: FlagSpecs }[]): Command {
  for (const specs of [SERVE_OPTIONS, ...addOns.map(({ flags }) => flags)])
    for (const [name, spec] of Object.entries(specs)) command.addOption(flagOption(name, spec));
  return command;
}

/** The variables of our prefix that are no flag of these, which have no effect: with the likely right name, if there is one. */
export function unknownVariables(env: NodeJS.ProcessEnv, options: readonly Option[]): readonly string[] {
  const known = options.flatMap(({ envVar }) => (envVar?.startsWith(PREFIX) ? [envVar] : []));
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !known.includes(name));
  return unknown.sort().map((name) => {
    const meant = suggest(
      name.slice(PREFIX.length),
      known.map((variable) => variable.slice(PREFIX.length)),
    );
    return meant === undefined ? name : `${name}: did you mean ${PREFIX}${meant}?`;
  });
}

type ServeOptionName = keyof typeof SERVE_OPTIONS;

/** One flag of `serve`, for other commands that share it. */
export function serveOption(name: ServeOptionName): Option {
  return flagOption(name, SERVE_OPTIONS[name]);
}

function flagOption(name: string, spec: FlagSpec<unknown>): Option {
  const option = new Option(
    `--${name} ${spec.parse.placeholder ? `<${spec.parse.placeholder}>` : '[true|false]'}`,
    spec.help,
  )
    .env(`${PREFIX}${name.replaceAll('-', '_').toUpperCase()}`)
    .argParser(spec.parse);
  const byDefault = typeof spec.default === 'function' ? spec.default() : spec.default;
  if (byDefault !== undefined) option.default(spec.parse(byDefault), byDefault);
  return option;
}
