import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node';
import { isRecord } from '../../util/json.ts';
import { TransportError } from '../api/api-error.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type Plugin, type PluginCredential, runPlugin } from './kubeconfig/exec-plugin.ts';
import type { KubeUser } from './kubeconfig/kubeconfig-fields.ts';

export type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'servername'>;

/** What authenticates a request: TLS settings of its connection, and headers. */
export interface Credential {
  readonly tls: TlsOptions;
  /** Identifies the TLS settings: equal settings have equal ids. */
  readonly tlsId: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

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
  get(): Credential | Promise<Credential> {
    const known = this.#known;
    if (known && this.#clock.now() - known.readAt < TTL_MS) return known.credential;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
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
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    const user: KubeUser | null = this.#config.getCurrentUser();
    let tls: TlsOptions = {
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
      ...(servername && { servername }),
    };
    let authorization = await authorizationOf(user, options);
    // A plugin or a provider is asked only if the kubeconfig itself holds no credential.
    if (authorization === undefined && !cert && user?.plugin) {
      const plugged = await this.#plugged(user.plugin);
      authorization = plugged.token && `Bearer ${plugged.token}`;
      if (plugged.cert && plugged.key) tls = { ...tls, cert: plugged.cert, key: plugged.key };
    } else if (authorization === undefined && !cert && user?.oidc) {
      authorization = `Bearer ${idTokenOf(user.oidc)}`;
    }
    return {
      tls,
      tlsId: createHash('sha256').update(JSON.stringify(tls)).digest('hex'),
      headers: { ...(authorization && { Authorization: authorization }), ...impersonationHeaders(user) },
    };
  }

  async #plugged(plugin: Plugin): Promise<PluginCredential> {
    // A plugin's credential expires by wall-clock time.
    if (!this.#ofPlugin || this.#ofPlugin.expiresAt <= Date.now()) {
      this.#ofPlugin = await runPlugin(plugin, this.#closed.signal);
    }
    return this.#ofPlugin;
  }
}

/** The header of a token or a password; a token file takes precedence, if it can be read. */
async function authorizationOf(
  user: KubeUser | null,
  { headers, auth }: RequestOptions,
): Promise<string | undefined> {
  if (user?.tokenFile) {
    // A token file may end with a newline, which a header cannot hold.
    const token = await readFile(user.tokenFile, 'utf8').then(
      (text) => text.trim(),
      (error: unknown) => {
        if (!user.token) throw error;
        return '';
      },
    );
    if (token !== '') return `Bearer ${token}`;
    if (!user.token) throw new Error(`expected a token in ${user.tokenFile}, got an empty file`);
  }
  if (isRecord(headers) && typeof headers.Authorization === 'string') return headers.Authorization.trim();
  return auth ? `Basic ${btoa(`${user?.username}:${user?.password ?? ''}`)}` : undefined;
}

/** The headers for impersonation (client-go's transport/round_trippers.go); none if the user impersonates no other. */
function impersonationHeaders(user: KubeUser | null): Readonly<Record<string, string[]>> {
  if (!user?.impersonateUser) return {};
  const { impersonateUser, impersonateUid, impersonateGroups = [], impersonateExtra = {} } = user;
  const extra = Object.entries(impersonateExtra).map(
    ([key, values]) => [`Impersonate-Extra-${encodeURIComponent(key)}`, values.map(onWire)] as const,
  );
  return {
    'Impersonate-User': [onWire(impersonateUser)],
    ...(impersonateUid && { 'Impersonate-Uid': [onWire(impersonateUid)] }),
    ...(impersonateGroups.length > 0 && { 'Impersonate-Group': impersonateGroups.map(onWire) }),
    ...Object.fromEntries(extra),
  };
}

/** The UTF-8 bytes of the value: the API server reads UTF-8, and the HTTP library writes one byte per character. */
function onWire(value: string): string {
  return Buffer.from(value).toString('latin1');
}

/**
 * The token of OpenID Connect. Neither this process nor client-node renews it: many issuers accept a refresh token
 * once, so the next one must be stored in the kubeconfig, as kubectl does.
 */
function idTokenOf({ 'id-token': token }: Readonly<Record<string, unknown>>): string {
  if (typeof token === 'string' && token !== '' && expiryOf(token) > Date.now()) return token;
  const is = token ? 'has an id-token that has expired' : 'has no id-token';
  throw new Error(
    `the auth-provider oidc ${is}: run any command of kubectl, which renews it, log in again, or use exec with a plugin`,
  );
}

/** In milliseconds since 1970; infinite if the token does not say it. */
function expiryOf(token: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return isRecord(claims) && typeof claims.exp === 'number' ? claims.exp * 1000 : Infinity;
  } catch {
    return Infinity;
  }
}
