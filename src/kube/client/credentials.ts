import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { isRecord } from '../../util/json.ts';
import { TransportError } from '../api/api-error.ts';
import { toError } from '../util/to-error.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type PluginCredential, runPlugin } from './kubeconfig/exec-plugin.ts';
import { impersonationHeaders } from './kubeconfig/impersonation.ts';
import type { KubeCluster, KubeUser } from './kubeconfig/kubeconfig-types.ts';

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
 * The credentials of the kubeconfig's current user (files, tokens, exec plugins, OIDC), cached for a short time. If
 * there are several, client-go's rules choose one. A plugin's credential is cached until it expires or is refused.
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
    const cluster: KubeCluster | null = this.#config.getCurrentCluster();
    const user: KubeUser | null = this.#config.getCurrentUser();
    const { cert, key, authorization } = user ? await this.#identity(user, cluster) : {};
    const ca = await contentOf(cluster?.caFile, cluster?.caData);
    const tls: TlsOptions = {
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
      ...(cluster?.skipTLSVerify && { rejectUnauthorized: false }),
      ...(cluster?.tlsServerName && { servername: cluster.tlsServerName }),
    };
    return {
      tls,
      tlsId: createHash('sha256').update(JSON.stringify(tls)).digest('hex'),
      headers: {
        ...(authorization && { Authorization: authorization }),
        ...(user && impersonationHeaders(user)),
      },
    };
  }

  /** Asks a plugin or a provider only if the kubeconfig itself holds no credential. */
  async #identity(user: KubeUser, cluster: KubeCluster | null): Promise<Identity> {
    const cert = await contentOf(user.certFile, user.certData);
    const key = await contentOf(user.keyFile, user.keyData);
    const token = await tokenOf(user);
    if (token) return { cert, key, authorization: `Bearer ${token}` };
    if (user.username) {
      return { cert, key, authorization: `Basic ${btoa(`${user.username}:${user.password ?? ''}`)}` };
    }
    if (cert) return { cert, key };
    if (user.exec && cluster) return this.#plugged(user.exec, cluster);
    if (user.authProvider) return { cert, key, authorization: `Bearer ${idTokenOf(user.authProvider)}` };
    return { cert, key };
  }

  async #plugged(exec: NonNullable<KubeUser['exec']>, cluster: KubeCluster): Promise<Identity> {
    // A plugin's credential expires by wall-clock time.
    if (!this.#ofPlugin || this.#ofPlugin.expiresAt <= Date.now()) {
      this.#ofPlugin = await runPlugin({ exec, cluster, signal: this.#closed.signal });
    }
    const { token, cert, key } = this.#ofPlugin;
    return { cert, key, authorization: token && `Bearer ${token}` };
  }
}

/**
 * The token of OpenID Connect in the kubeconfig. This process does not renew it: many issuers accept a refresh token
 * once, so the next one must be stored in the kubeconfig, as kubectl does.
 */
function idTokenOf({ config }: NonNullable<KubeUser['authProvider']>): string {
  const token = config['id-token'];
  if (token && expiryOf(token) > Date.now()) return token;
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

interface Identity {
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly authorization?: string | undefined;
}

/** The user's token; a token file takes precedence. */
async function tokenOf({ token, tokenFile }: KubeUser): Promise<string | undefined> {
  if (!tokenFile) return token;
  try {
    // A token file may end with a newline, which a header cannot hold.
    const read = (await readFile(tokenFile, 'utf8')).trim();
    if (read === '') throw new Error(`expected a token in ${tokenFile}, got an empty file`);
    return read;
  } catch (error) {
    if (token) return token;
    throw error;
  }
}

async function contentOf(file: string | undefined, data: string | undefined): Promise<Buffer | undefined> {
  if (data) return Buffer.from(data, 'base64');
  return file ? await readFile(file) : undefined;
}
