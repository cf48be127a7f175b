import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';

import type { Clock } from '../workqueue/clock.ts';
import { TransportError } from './api-error.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export interface TransportRequest {
  readonly method: Method;
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** A watch: its body may be silent for as long as the reader allows. */
  readonly streaming?: boolean;
}

export interface TransportResponse {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly body: Readable & { text(): Promise<string> };
}

type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>;

/** What a request needs to be let in: a connection of these TLS settings, and these headers. */
interface Credential {
  readonly readAt: number;
  readonly pool: string;
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string>>;
}

interface Pool {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** How long files of a credential (CA, token, client certificate) are believed before they are read again. */
const CREDENTIAL_TTL_MS = 10_000;
/** Below the API server's 90 s (Go's http.Server.IdleTimeout there), so that we never reuse what it just closed. */
const KEEP_ALIVE_MS = 60_000;
/** A watch is answered at once, however long its events are in coming. */
const STREAM_HEAD_MS = 30_000;
/** Requests in flight to the server at once; more wait their turn. Watches have connections of their own. */
const MAX_CONNECTIONS = 32;

/**
 * Carries requests to the API server over few, kept connections. client-node opens a TLS connection for every call
 * (its `applySecurityAuthentication` makes a new undici Agent each time), so of client-node this uses what it is
 * best at, the credentials (kubeconfig, exec plugins, OIDC, service account), and keeps one pool per credential.
 * Rotated files make a new pool; the old one is closed when its requests have ended.
 *
 * HTTP/1.1, not 2: one socket for all would let one half-open connection hold up watches, writes and leases alike.
 */
export class Transport {
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  readonly #pools = new Map<string, Pool>();
  #credential: Promise<Credential> | undefined;
  #closed = false;

  constructor(config: KubeConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * Sends one request and resolves at its response's head; the caller reads or destroys the body.
   * @throws TransportError when there was no answer; the signal's reason when the caller aborted.
   */
  async send(request: TransportRequest): Promise<TransportResponse> {
    const first = await this.#once(request);
    if (first.status !== 401) return first;
    // The token or certificate may have been rotated since it was read: once more with what the files hold now.
    await drain(first);
    this.#credential = undefined;
    return await this.#once(request);
  }

  /** Ends all connections. Nothing may be sent afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.flatMap(({ requests, streams }) => [requests.destroy(), streams.destroy()]));
  }

  async #once({
    method,
    path,
    headers,
    body,
    signal,
    streaming,
  }: TransportRequest): Promise<TransportResponse> {
    const server = this.#server();
    const credential = await this.#readCredential();
    signal.throwIfAborted();
    const pool = this.#pool(credential);
    try {
      const response = await (streaming ? pool.streams : pool.requests).request({
        origin: server.origin,
        path: `${server.pathname.replace(/\/$/, '')}${path}`,
        method,
        headers: { ...credential.headers, ...headers },
        body: body ?? null,
        signal,
      });
      return {
        status: response.statusCode,
        header: (name) => [response.headers[name]].flat()[0],
        body: response.body,
      };
    } catch (error) {
      signal.throwIfAborted();
      throw toTransportError(error, `${method} ${server.origin}${path.split('?')[0]}`);
    }
  }

  #server(): URL {
    const cluster = this.#config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster: set its current-context');
    return new URL(cluster.server);
  }

  #readCredential(): Promise<Credential> {
    const known = this.#credential;
    const reading =
      known === undefined ? this.#load() : known.then((c) => (this.#fresh(c) ? c : this.#load()));
    this.#credential = reading;
    reading.catch(() => {
      // The caller gets this error from the promise itself; the next request reads again.
      if (this.#credential === reading) this.#credential = undefined;
    });
    return reading;
  }

  #fresh(credential: Credential): boolean {
    return this.#clock.now() - credential.readAt < CREDENTIAL_TTL_MS;
  }

  async #load(): Promise<Credential> {
    const options: RequestOptions = { headers: {} };
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new TransportError(
        `cannot read the credentials for the API server: ${text(error)}`,
        'ECREDENTIALS',
        error,
      );
    }
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
    const tls = definedOnly({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
    const authorization = options.auth ? { Authorization: `Basic ${btoa(options.auth)}` } : {};
    const headers = { ...stringHeaders(options.headers), ...authorization };
    const pool = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
    return { readAt: this.#clock.now(), pool, tls, headers };
  }

  #pool({ pool: key, tls }: Credential): Pool {
    if (this.#closed) throw new TransportError('the client is closed', 'ECLOSED', undefined);
    const known = this.#pools.get(key);
    if (known) return known;
    for (const [oldKey, old] of this.#pools) {
      this.#pools.delete(oldKey);
      // close() waits for what is in flight, a watch too: it is bounded by its timeoutSeconds.
      void Promise.allSettled([old.requests.close(), old.streams.close()]);
    }
    const made = {
      requests: this.#dispatcher(tls, { connections: MAX_CONNECTIONS }),
      streams: this.#dispatcher(tls, { bodyTimeout: 0, headersTimeout: STREAM_HEAD_MS }),
    };
    this.#pools.set(key, made);
    return made;
  }

  #dispatcher(tls: TlsOptions, limits: Agent.Options): Dispatcher {
    const proxy = this.#config.getCurrentCluster()?.proxyUrl;
    const common = { ...limits, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };
    if (proxy?.startsWith('socks')) {
      throw new Error(`the kubeconfig's proxy-url is a SOCKS proxy (${proxy}): use an http or https one`);
    }
    if (proxy) return new ProxyAgent({ ...common, uri: proxy, requestTls: tls });
    // TCP keep-alive below the 60 s after which cloud load balancers forget a silent connection.
    return new Agent({ ...common, connect: { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000 } });
  }
}

/** Reads a body that nobody wants to its end, so that its connection can be used again. */
async function drain(response: TransportResponse): Promise<void> {
  await response.body.text().catch(() => response.body.destroy());
}

function toTransportError(error: unknown, what: string): TransportError {
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'EUNKNOWN';
  return new TransportError(`${what}: ${text(cause)}`, code, error);
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stringHeaders(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]),
  );
}

function definedOnly(options: TlsOptions): TlsOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null),
  );
}
