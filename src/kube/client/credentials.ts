import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { promisify } from 'node:util';
import type { KubeConfig } from '@kubernetes/client-node';
import { defined, isRecord } from '../../util/json.ts';
import { TransportError } from '../api/api-error.ts';
import { toError } from '../util/errors.ts';
import type { Clock } from '../workqueue/clock.ts';
import type { KubeUser, Plugin } from './kubeconfig/kubeconfig-fields.ts';

export type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'>;

/** What authenticates a request: TLS settings of its connection, and headers. */
export interface Credential {
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

/** What a plugin has returned: the status of an ExecCredential. */
type PluginCredential = Readonly<Record<string, unknown>>;

/** How long the files of a credential (CA, client certificate, token) are cached before they are read again. */
const TTL_MS = 10_000;

/**
 * The credentials of the kubeconfig's current user, cached for a short time: those that client-node reads, and what it
 * lacks (KubeUser). A plugin's credential is cached until it expires or is refused.
 */
export class Credentials {
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #known: { readonly credential: Credential; readonly readAt: number } | undefined;
  #reading: Promise<Credential> | undefined;
  #ofPlugin: PluginCredential | undefined;

  constructor(config: KubeConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * The credential to send now. Concurrent calls share one read.
   * @throws TransportError `ECREDENTIALS` if it cannot be read, and no previous credential is cached.
   */
  async get(): Promise<Credential> {
    const known = this.#known;
    if (known && this.#clock.now() - known.readAt < TTL_MS) return known.credential;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  /** The server refused the credential: the next get() reads it again, without caches. */
  refuse(credential: Credential): void {
    // Of many requests that failed with the same credential, the first one has dropped it.
    if (this.#known?.credential !== credential) return;
    this.#known = undefined;
    this.#ofPlugin = undefined;
  }

  /** Ends a running plugin. */
  close(): void {
    this.#closed.abort(new Error('the client is closed'));
  }

  async #read(): Promise<Credential> {
    try {
      const credential = await this.#load();
      this.#known = { credential, readAt: this.#clock.now() };
      return credential;
    } catch (error) {
      // Perhaps a file is being replaced. The cached credential is used until the server refuses it.
      if (this.#known) return this.#known.credential;
      const message = `cannot read the credentials for the API server: ${toError(error).message}`;
      throw new TransportError(message, 'ECREDENTIALS', error);
    }
  }

  async #load(): Promise<Credential> {
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const user: KubeUser | null = this.#config.getCurrentUser();
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    let tls: TlsOptions = defined({ ca, cert, key, rejectUnauthorized, servername });
    let authorization = await authorizationOf(user, options);
    // A plugin is asked only if the kubeconfig itself holds no credential.
    if (authorization === undefined && !cert && user?.plugin) {
      const { token, clientCertificateData, clientKeyData } = await this.#plugged(user.plugin);
      if (typeof token === 'string') authorization = `Bearer ${token}`;
      if (typeof clientCertificateData === 'string' && typeof clientKeyData === 'string')
        tls = { ...tls, cert: clientCertificateData, key: clientKeyData };
    }
    return {
      tls,
      headers: { ...(authorization && { Authorization: authorization }), ...impersonationHeaders(user) },
    };
  }

  async #plugged(plugin: Plugin): Promise<PluginCredential> {
    const { expirationTimestamp }: PluginCredential = this.#ofPlugin ?? {};
    // By wall-clock time.
    const isExpired =
      expirationTimestamp !== undefined && !(Date.parse(String(expirationTimestamp)) > Date.now());
    if (!this.#ofPlugin || isExpired) this.#ofPlugin = await runPlugin(plugin, this.#closed.signal);
    return this.#ofPlugin;
  }
}

/**
 * Runs the plugin once (protocol client.authentication.k8s.io), without a terminal. Not client-node's ExecAuth: that
 * tells the plugin nothing, and cannot end it.
 */
async function runPlugin(plugin: Plugin, signal: AbortSignal): Promise<PluginCredential> {
  const { command, args, env, apiVersion, cluster } = plugin;
  const spec = { interactive: false, ...(cluster && { cluster: await clusterInfo(cluster) }) };
  const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
  try {
    const running = promisify(execFile)(command, [...args], {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
      signal,
      killSignal: 'SIGKILL',
    });
    running.child.stdin?.end();
    const answer: unknown = JSON.parse((await running).stdout);
    if (isRecord(answer) && isRecord(answer.status)) return answer.status;
  } catch (cause) {
    // The output may hold a secret, so a parser's error does not count.
    const problem = cause instanceof SyntaxError ? 'printed no JSON' : failureOf(cause);
    throw new Error(`the credential plugin ${command} ${problem}`, { cause });
  }
  throw new Error(`the credential plugin ${command} printed no ExecCredential with a status`);
}

function failureOf(error: unknown): string {
  const { code, stderr = '' }: Readonly<Record<string, unknown>> = isRecord(error) ? error : {};
  if (typeof code !== 'number') return `cannot be run: ${toError(error).message}`;
  const said = String(stderr).trim().split('\n').at(-1);
  return `failed, exit code ${code}${said ? `: ${said}` : ''}`;
}

/** The cluster as client-go describes it to a plugin (clientauthentication/v1, Cluster). */
async function clusterInfo(cluster: Readonly<Record<string, unknown>>): Promise<object> {
  const { 'certificate-authority': file, extensions, ...fields } = cluster;
  const all = Array.isArray(extensions) ? extensions.filter(isRecord) : [];
  return {
    ...fields,
    ...(typeof file === 'string' && { 'certificate-authority-data': await readFile(file, 'base64') }),
    config: all.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension ?? null,
  };
}

/** The header of a token or a password. */
async function authorizationOf(
  user: KubeUser | null,
  { headers, auth }: RequestOptions,
): Promise<string | undefined> {
  // A token file may end with a newline, which a header cannot hold.
  if (user?.tokenFile) return `Bearer ${(await readFile(user.tokenFile, 'utf8')).trim()}`;
  if (isRecord(headers) && typeof headers.Authorization === 'string') return headers.Authorization.trim();
  return auth ? `Basic ${btoa(`${user?.username}:${user?.password ?? ''}`)}` : undefined;
}

/** The headers for impersonation (client-go's transport/round_trippers.go); none if the user impersonates no other. */
function impersonationHeaders(user: KubeUser | null): Readonly<Record<string, string[]>> {
  if (!user?.impersonateUser) return {};
  const { impersonateUser, impersonateUid, impersonateGroups = [], impersonateExtra = {} } = user;
  const headers = {
    User: [impersonateUser],
    Uid: impersonateUid ? [impersonateUid] : [],
    Group: impersonateGroups,
    ...Object.fromEntries(
      Object.entries(impersonateExtra).map(([key, values]) => [`Extra-${encodeURIComponent(key)}`, values]),
    ),
  };
  // The API server reads UTF-8, and the HTTP library writes one byte per character.
  const onWire = (value: string) => Buffer.from(value).toString('latin1');
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([, values]) => values.length > 0)
      .map(([name, values]) => [`Impersonate-${name}`, values.map(onWire)]),
  );
}
