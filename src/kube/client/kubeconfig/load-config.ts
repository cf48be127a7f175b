import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { load, YAMLException } from 'js-yaml';
import { isRecord } from '../../../util/json.ts';
import { yamlProblem } from '../../../util/yaml.ts';
import { fileProblem, toError, UsageError } from '../../util/errors.ts';
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
  const access =
    files.length > 0 ? accessIn(files, options) : accessOfPod(environment, serviceAccount, master);
  const cluster = readCluster(access.cluster);
  const { user, extra } = readUser(access.user, cluster, options);
  const server = master ?? cluster.server ?? '';
  const proxy = proxyFor(server, cluster, environment);
  const [c, u] = [access.cluster.name, access.user.name];
  const config = new KubeConfig();
  // JSON is YAML.
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: c, cluster: { ...cluster, server, 'proxy-url': proxy } }],
      users: [{ name: u, user }],
      contexts: [{ name: 'current', context: { cluster: c, user: u, namespace: access.namespace } }],
      'current-context': 'current',
    }),
  );
  Object.assign(config.getCurrentUser() ?? {}, extra);
  return config;
}

type EntryKind = 'cluster' | 'user' | 'context';

/** The files that kubectl reads when no flag names one: those of $KUBECONFIG that exist, else ~/.kube/config. */
function defaultFiles({ KUBECONFIG, HOME }: Environment): readonly string[] {
  const named = KUBECONFIG?.split(delimiter).filter((file) => file !== '') ?? [];
  const files = named.length > 0 ? named : HOME ? [join(HOME, '.kube', 'config')] : [];
  return files.filter((file) => existsSync(file));
}

function parsed(file: string) {
  let fields: unknown;
  try {
    fields = load(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (!(cause instanceof YAMLException))
      throw new Error(`cannot read ${file}: ${fileProblem(cause)}`, { cause });
    // Its message would quote the file, secrets included.
    const place = cause.mark ? `:${cause.mark.line + 1}:${cause.mark.column + 1}` : '';
    throw new Error(`${file}${place}: ${yamlProblem(cause.reason)}`, { cause });
  }
  if (!isRecord(fields)) throw new Error(`${file} is not a kubeconfig: it is not an object`);
  return { file, fields };
}

/** The entries of all files. Of two with a name, the first counts, as in client-go. */
function entriesIn(documents: readonly ReturnType<typeof parsed>[], kind: EntryKind): readonly Entry[] {
  return documents.flatMap(({ file, fields }) => {
    const items = fields[`${kind}s`];
    return (Array.isArray(items) ? items : []).filter(isRecord).flatMap(({ name, [kind]: value }) => {
      const where = `${file}: ${kind} ${JSON.stringify(name)}`;
      return isName(name) ? [{ name, file, where, value: value ?? {} }] : [];
    });
  });
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The current context of these files, with the parts that flags replace. */
function accessIn(files: readonly string[], overrides: KubeconfigOverrides): Access {
  const documents = files.map(parsed);
  const chosen = (kind: EntryKind, name: unknown, where: string): Entry => {
    const entries = entriesIn(documents, kind);
    const found = entries.find((entry) => entry.name === name);
    if (found) return found;
    const known = entries.length > 0 ? entries.map((each) => each.name).join(', ') : 'none';
    throw new Error(`${files}: ${where} ${JSON.stringify(name) ?? 'none'}, but the ${kind}s are ${known}`);
  };
  const current = documents.map(({ fields }) => fields['current-context']).find(isName);
  const contextName = overrides.context ?? current;
  if (contextName === undefined && (overrides.cluster === undefined || overrides.user === undefined))
    throw new Error(`${files} has no current context: set current-context, or use --context`);
  const setting = overrides.context === undefined ? 'current-context' : '--context';
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

/** The proxy for the server, if any. @throws Error for an invalid server or proxy. */
function proxyFor(
  text: string,
  cluster: { readonly 'insecure-skip-tls-verify'?: boolean; readonly 'proxy-url'?: string },
  environment: Environment,
): string | undefined {
  const server = URL.parse(text);
  const isPlain = server?.protocol === 'http:' && cluster['insecure-skip-tls-verify'] === true;
  if (!server || (server.protocol !== 'https:' && !isPlain))
    throw new Error(
      `expected an https URL for the API server, got ${JSON.stringify(text)}: http needs insecure-skip-tls-verify`,
    );
  const proxy = cluster['proxy-url'] ?? proxyFromEnvironment(server, environment);
  if (isPlain && proxy)
    throw new Error(`the API server ${text} needs https behind a proxy (${new URL(proxy).origin})`);
  return proxy;
}
