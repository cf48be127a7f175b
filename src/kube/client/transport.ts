import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { WebSocket } from 'ws';
import { asTransportError, TransportError } from '../api/api-error.ts';
import { abortable } from '../util/waits.ts';
import type { Clock } from '../workqueue/clock.ts';
import { type Credential, Credentials, type TlsOptions } from './credentials.ts';
import { guardedDispatcher } from './guarded-dispatcher.ts';

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
  /** Called when a connection takes the request. If it throws, send() rejects with that error and nothing is sent. */
  readonly guard?: () => void;
}

/** An answer of undici, or in the form of one. */
export type TransportResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> & {
  readonly body: Readable & { text(): Promise<string> };
};

/** The connections of one credential. */
interface Connections {
  readonly tls: TlsOptions;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** Less than the API server's 90 s (its http.Server.IdleTimeout), so that a connection it just closed is not reused. */
const KEEP_ALIVE_MS = 60_000;
/**
 * The head of a watch comes at once. But some proxies hold it back until the first data, which is the first bookmark,
 * after a minute.
 */
const STREAM_HEAD_MS = 75_000;
/**
 * undici's default is 10 s. After an outage without any answer, a request that began to connect during it waits this
 * long before its next attempt, which succeeds.
 */
const CONNECT_TIMEOUT_MS = 4_000;
/** Requests in flight to the server at once; more wait their turn. Watches have separate connections. */
const MAX_CONNECTIONS = 32;
/**
 * No request begins on a connection older than this. A load balancer chooses an API server for each connection, so a
 * new API server gets its share. Jitter adds up to a fifth, so that replicas do not all connect at once.
 */
const MAX_AGE_MS = 300_000;
const AGE_JITTER = 0.2;
/** Connections of former credentials that may still be in use. Idle ones end by themselves. */
const MOST_FORMER = 4;
/** TCP keep-alive is below the 60 s after which cloud load balancers drop a silent connection. */
const TCP = { keepAlive: true, keepAliveInitialDelay: 30_000, timeout: CONNECT_TIMEOUT_MS };

/**
 * Sends requests to the API server over a few kept-alive connections. client-node opens a TLS connection for every call
 * (its `applySecurityAuthentication` creates an undici Agent each time). So this uses only the kubeconfig of
 * client-node, and keeps one pool per credential. A new pool replaces it when files are rotated.
 *
 * HTTP/1.1, not 2: with one shared socket, one half-open connection would block watches, writes and leases alike.
 */
export class Transport {
  readonly #server: URL;
  readonly #proxy: string | undefined;
  readonly #credentials: Credentials;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  /** The newest last. */
  readonly #connections: Connections[] = [];
  #closed = false;

  /** `userAgent` names the client in the API server's audit log, and by default as field manager. */
  constructor(config: KubeConfig, clock: Clock, userAgent?: string) {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster: set its current-context');
    this.#server = new URL(cluster.server);
    this.#proxy = cluster.proxyUrl;
    this.#ownHeaders = userAgent === undefined ? {} : { 'User-Agent': userAgent };
    this.#credentials = new Credentials(config, clock);
  }

  /**
   * Sends one request and resolves at its response's head; the caller reads or destroys the body.
   * @throws TransportError when there was no answer; the signal's reason when the caller aborted.
   */
  async send(request: TransportRequest): Promise<TransportResponse> {
    const credential = await this.#credential(request.signal);
    const response = await this.#sendAs(credential, request);
    if (response.statusCode !== 401) return response;
    // The token or certificate may have been rotated since it was read: retry once with the files of now.
    await drain(response);
    this.#credentials.refuse(credential);
    return await this.#sendAs(await this.#credential(request.signal), request);
  }

  /** Starts a WebSocket to a path of the API server, which the caller ends. */
  async webSocket(path: string, protocol: string, signal: AbortSignal): Promise<WebSocket> {
    const { tls, headers } = await this.#credential(signal);
    // Few commands need it.
    const { WebSocket: Client } = await import('ws');
    // Node.js 22.21 and newer know it.
    const options = { ...tls, ...(this.#proxy && { proxyEnv: { HTTPS_PROXY: this.#proxy } }) };
    return new Client(`${this.#server.href.replace(/\/$/, '')}${path}`, [protocol], {
      agent: this.#server.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(),
      headers: { ...this.#ownHeaders, ...headers },
      perMessageDeflate: false,
    });
  }

  /** Ends all connections. send() fails afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#credentials.close();
    await Promise.all(this.#connections.map(destroyed));
  }

  /** Does not wait for an exec plugin that hangs. */
  #credential(signal: AbortSignal): Promise<Credential> {
    return abortable(this.#credentials.get(), signal);
  }

  async #sendAs(
    credential: Credential,
    { method, path, headers, body, signal, streaming, guard }: TransportRequest,
  ): Promise<TransportResponse> {
    signal.throwIfAborted();
    const { origin, pathname } = this.#server;
    const { streams, requests } = this.#connectionsOf(credential);
    const dispatcher = streaming ? streams : requests;
    try {
      const answered = (guard ? guardedDispatcher(dispatcher, guard) : dispatcher).request({
        origin,
        path: `${pathname.replace(/\/$/, '')}${path}`,
        method,
        headers: { ...this.#ownHeaders, ...credential.headers, ...headers },
        body: body ?? null,
        signal,
      });
      // undici ends an aborted request only when its connect ends.
      return await abortable(answered, signal);
    } catch (error) {
      signal.throwIfAborted();
      const by = this.#proxy ? ` via proxy ${new URL(this.#proxy).origin}` : '';
      throw asTransportError(error, `${method} ${origin}${path.split('?')[0]}${by}`);
    }
  }

  #connectionsOf({ tls }: Credential): Connections {
    if (this.#closed) throw new TransportError('the client is closed', 'ECLOSED');
    const current = this.#connections.at(-1);
    if (current && isDeepStrictEqual(current.tls, tls)) return current;
    const fresh = {
      tls,
      requests: this.#dispatcher(tls, { connections: MAX_CONNECTIONS }),
      streams: this.#dispatcher(tls, { bodyTimeout: 0, headersTimeout: STREAM_HEAD_MS }),
    };
    this.#connections.push(fresh);
    for (const old of this.#connections.splice(0, this.#connections.length - 1 - MOST_FORMER))
      void destroyed(old);
    return fresh;
  }

  #dispatcher(tls: TlsOptions, limits: Pool.Options): Dispatcher {
    const clientTtl = MAX_AGE_MS * (1 + AGE_JITTER * Math.random());
    const common = { ...limits, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1, clientTtl };
    if (!this.#proxy)
      return new Pool(this.#server.origin, { ...common, connect: { ...tls, ...TCP, allowH2: false } });
    return new ProxyAgent({
      ...common,
      uri: this.#proxy,
      proxyTls: { ...TCP, ...tlsToProxy(tls) },
      requestTls: { ...tls, timeout: CONNECT_TIMEOUT_MS },
      clientFactory: (proxy, options) => new Pool(proxy, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
    });
  }
}

/** As in client-go, the cluster's authority may have signed the proxy's certificate; it gets no client certificate. */
function tlsToProxy({ ca, rejectUnauthorized }: TlsOptions): TlsOptions {
  return {
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca].flat() }),
  };
}

function destroyed({ requests, streams }: Connections): Promise<unknown> {
  return Promise.allSettled([requests.destroy(), streams.destroy()]);
}

/** Reads an unneeded body to its end, so that its connection can be reused. */
async function drain(response: TransportResponse): Promise<void> {
  await response.body.text().catch(() => response.body.destroy());
}
