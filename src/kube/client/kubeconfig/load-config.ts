import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { load, YAMLException } from 'js-yaml';
import { isRecord } from '../../../util/json.ts';
import { yamlProblem } from '../../../util/yaml.ts';
import { fileProblem } from '../../util/file-problem.ts';
import { toError } from '../../util/to-error.ts';
import { UsageError } from '../../util/usage-error.ts';
import { type Entry, type KubeconfigOverrides, readCluster, readUser } from './kubeconfig-fields.ts';
import { type Environment, proxyFromEnvironment } from './proxy.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

interface LoadOptions extends KubeconfigOverrides {
  readonly kubeconfig: string | undefined;
  readonly master: string | undefined;
  readonly environment?: Environment;
  /** Directory of the pod's service account token. */
  readonly serviceAccount?: string;
}

/** The API server to use, and as which user. */
interface Access {
  readonly cluster: Entry;
  readonly user: Entry;
  readonly namespace?: unknown;
}

/**
 * The kubeconfig of a command. `instead` ends the message, with what to do without one.
 * @throws UsageError of one line if the configuration is unusable. Call it before anything starts.
 */
export function usableKubeConfig(options: LoadOptions, instead = ''): KubeConfig {
  try {
    return loadKubeConfig(options);
  } catch (cause) {
    throw new UsageError(`no usable kubeconfig: ${toError(cause).message}${instead}`, { cause });
  }
}

/**
 * The configuration for the API server: from the given file, else where kubectl finds it ($KUBECONFIG, ~/.kube/config),
 * else from the pod's service account. `master` replaces its server. Each field that client-go uses is used, or refused
 * with an error that names it.
 * @throws Error of one line if the configuration is unusable.
 */
export function loadKubeConfig(options: LoadOptions): KubeConfig {
  const { kubeconfig, master, environment = process.env, serviceAccount = SERVICE_ACCOUNT } = options;
  const files = kubeconfig === undefined ? defaultFiles(environment) : [kubeconfig];
  const flag = (['context', 'cluster', 'user'] as const).find((name) => options[name] !== undefined);
  if (files.length === 0 && flag !== undefined)
    throw new Error(`--${flag} needs a kubeconfig: use --kubeconfig, or set $KUBECONFIG`);
  const access =
    files.length > 0
      ? currentAccess(new Kubeconfig(files), options)
      : accessOfPod(environment, serviceAccount, master);
  const { name, ...cluster } = readCluster(access.cluster);
  const { name: userName, extra, ...user } = readUser(access.user, cluster, options);
  const { server, proxyUrl } = reachable(
    master ?? cluster.server ?? '',
    cluster['insecure-skip-tls-verify'] === true,
    cluster['proxy-url'],
    environment,
  );
  const context = { cluster: name, user: userName, namespace: access.namespace };
  const config = new KubeConfig();
  // JSON is YAML.
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name, cluster: { ...cluster, server, 'proxy-url': proxyUrl } }],
      users: [{ name: userName, user }],
      contexts: [{ name: 'current', context }],
      'current-context': 'current',
    }),
  );
  Object.assign(config.getCurrentUser() ?? {}, extra);
  return config;
}

/** The names of a kubeconfig's entries, for completion. */
export function kubeconfigNames(kind: EntryKind, kubeconfig: string | undefined): readonly string[] {
  return new Kubeconfig(kubeconfig === undefined ? defaultFiles(process.env) : [kubeconfig]).names(kind);
}

/** The files that kubectl reads when no flag names one: those of $KUBECONFIG that exist, else ~/.kube/config. */
function defaultFiles({ KUBECONFIG, HOME }: Environment): readonly string[] {
  const named = KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? [];
  const files = named.length > 0 ? named : HOME ? [join(HOME, '.kube', 'config')] : [];
  return files.filter((file) => existsSync(file));
}

type EntryKind = 'cluster' | 'user' | 'context';

/** The merged content of kubeconfig files. If two have the same entry, the first file wins, as in client-go. */
class Kubeconfig {
  readonly files: string;
  readonly #documents: readonly {
    readonly file: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];

  /** @throws Error, which names the file, for a file that cannot be read or is not a kubeconfig. */
  constructor(files: readonly string[]) {
    this.files = files.join(', ');
    this.#documents = files.map((file) => ({ file, fields: parsed(file) }));
  }

  get currentContext(): string | undefined {
    return this.#documents.map(({ fields }) => fields['current-context']).find(isName);
  }

  names(kind: EntryKind): readonly string[] {
    return [
      ...new Set(
        this.#items(kind)
          .map(({ item }) => item.name)
          .filter(isName),
      ),
    ];
  }

  find(kind: EntryKind, name: string | undefined): Entry | undefined {
    const found = this.#items(kind).find(({ item }) => name !== undefined && item.name === name);
    if (!found || name === undefined) return undefined;
    const { file, item } = found;
    return { name, file, where: `${file}: ${kind} ${JSON.stringify(name)}`, value: item[kind] ?? {} };
  }

  #items(kind: EntryKind) {
    return this.#documents.flatMap(({ file, fields }) => {
      const items = fields[`${kind}s`];
      return Array.isArray(items) ? items.filter(isRecord).map((item) => ({ file, item })) : [];
    });
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function parsed(file: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = load(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (!(cause instanceof YAMLException))
      throw new Error(`cannot read ${file}: ${fileProblem(cause)}`, { cause });
    // Its message would quote the file, secrets included.
    const place = cause.mark ? `:${cause.mark.line + 1}:${cause.mark.column + 1}` : '';
    throw new Error(`${file}${place}: ${yamlProblem(cause.reason)}`, { cause });
  }
  if (!isRecord(value)) throw new Error(`${file}: expected a kubeconfig, got no object`);
  return value;
}

function currentAccess(kubeconfig: Kubeconfig, overrides: KubeconfigOverrides): Access {
  const { files } = kubeconfig;
  const contextName = overrides.context ?? kubeconfig.currentContext;
  if (contextName === undefined && (overrides.cluster === undefined || overrides.user === undefined))
    throw new Error(`${files} has no current context: set current-context, or use --context`);
  const setting = overrides.context === undefined ? 'current-context' : '--context';
  const chosen = (kind: EntryKind, name: unknown, where: string): Entry => {
    const found = kubeconfig.find(kind, isName(name) ? name : undefined);
    if (found) return found;
    const names = kubeconfig.names(kind);
    const known = names.length > 0 ? `the ${kind}s are ${names.join(', ')}` : `there are no ${kind}s`;
    throw new Error(`${files}: ${where} ${isName(name) ? JSON.stringify(name) : 'none'}, but ${known}`);
  };
  // --cluster and --user together need no context.
  const context = contextName === undefined ? {} : chosen('context', contextName, `${setting} is`).value;
  const fields = isRecord(context) ? context : {};
  const part = (kind: 'cluster' | 'user') =>
    overrides[kind] === undefined
      ? chosen(kind, fields[kind], `the ${kind} of context ${JSON.stringify(contextName)} is`)
      : chosen(kind, overrides[kind], `--${kind} is`);
  return { cluster: part('cluster'), user: part('user'), namespace: fields.namespace };
}

/** The access of the pod's service account; outside a pod, anonymous access to `master`. */
function accessOfPod(environment: Environment, directory: string, master: string | undefined): Access {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, KUBECONFIG } = environment;
  const [tokenFile, namespaceFile] = [join(directory, 'token'), join(directory, 'namespace')];
  const entry = (name: string, value: object) => ({ name, where: name, file: tokenFile, value });
  if (host && port && existsSync(tokenFile)) {
    const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const cluster = entry('pod', { server, 'certificate-authority': join(directory, 'ca.crt') });
    const namespace = existsSync(namespaceFile) ? readFileSync(namespaceFile, 'utf8').trim() : undefined;
    return { cluster, user: entry('pod', { tokenFile }), namespace };
  }
  if (master !== undefined) return { cluster: entry('master', {}), user: entry('anonymous', {}) };
  throw new Error(
    KUBECONFIG
      ? `$KUBECONFIG is ${KUBECONFIG}, but no such file exists: set it to a kubeconfig`
      : 'none found: use --kubeconfig, set $KUBECONFIG, or create ~/.kube/config',
  );
}

/** The server's URL, and the proxy for it. @throws Error for an invalid server or proxy. */
function reachable(
  text: string,
  skipsVerify: boolean,
  ownProxy: string | undefined,
  environment: Environment,
): { readonly server: string; readonly proxyUrl: string | undefined } {
  const server = URL.parse(text);
  const isPlain = server?.protocol === 'http:';
  if (!server || (server.protocol !== 'https:' && !(isPlain && skipsVerify))) {
    const advice = isPlain ? ': set insecure-skip-tls-verify to use http' : '';
    throw new Error(`expected an https URL for the API server, got ${JSON.stringify(text)}${advice}`);
  }
  const proxyUrl = ownProxy ?? proxyFromEnvironment(server, environment);
  if (isPlain && proxyUrl)
    throw new Error(`the API server ${text} is behind a proxy (${new URL(proxyUrl).origin}): use https`);
  return { server: text, proxyUrl };
}
