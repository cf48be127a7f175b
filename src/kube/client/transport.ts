import type { Readable } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Dispatcher, Pool } from 'undici';
import { asTransportError, TransportError } from '../api/api-error.ts';
import { abortable } from '../util/linked-abort.ts';
import type { Clock } from '../workqueue/clock.ts';
import { askAtStart } from './ask-at-start.ts';
import { type Credential, Credentials, type TlsOptions } from './credentials.ts';
import { tunnelConnector } from './tunnel.ts';

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
  /** Asked when a connection takes the request; what it throws is what send() rejects with, and nothing is sent. */
  readonly mayStart?: () => void;
}

export interface TransportResponse {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly body: Readable & { text(): Promise<string> };
}

/** The connections of one credential. */
interface Connections {
  readonly tlsId: string;
  /** When new requests get new connections, in the clock's milliseconds. */
  readonly retiresAt: number;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

/** Below the API server's 90 s (Go's http.Server.IdleTimeout there), so that we never reuse what it just closed. */
const KEEP_ALIVE_MS = 60_000;
/**
 * The head of a watch comes at once; but some proxies hold it back until there is something to pass on, which is
 * the first bookmark, after a minute.
 */
const STREAM_HEAD_MS = 75_000;
/**
 * undici's own is 10 s. After an outage without any answer, whoever began to connect while it lasted waits this long
 * before the next try, which then is answered.
 */
const CONNECT_TIMEOUT_MS = 4_000;
/** Requests in flight to the server at once; more wait their turn. Watches have connections of their own. */
const MAX_CONNECTIONS = 32;
/**
 * No request begins on a connection older than this. A load balancer chooses an API server for each connection, so that
 * one which has joined gets its share. Up to a fifth longer, so that replicas do not all connect at once.
 */
const MAX_AGE_MS = 300_000;
const AGE_JITTER = 0.2;

/**
 * Carries requests to the API server over few, kept connections. client-node opens a TLS connection for every call
 * (its `applySecurityAuthentication` makes a new undici Agent each time), so of client-node this uses what it is
 * best at, the kubeconfig, and keeps one pool per credential. Rotated files make a new pool, and so does age; the old one
 * is closed when its requests have ended.
 *
 * HTTP/1.1, not 2: one socket for all would let one half-open connection hold up watches, writes and leases alike.
 */
export class Transport {
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  readonly #credentials: Credentials;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  #connections: Connections | undefined;
  /** Also those of former credentials, until their last request has ended. */
  readonly #open = new Set<Connections>();
  #closed = false;

  /** `userAgent` is how the API server's audit log, and its field managers by default, name who asks. */
  constructor(config: KubeConfig, clock: Clock, userAgent?: string) {
    this.#config = config;
    this.#clock = clock;
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
    if (response.status !== 401) return response;
    // The token or certificate may have been rotated since it was read: once more with what the files hold now.
    await drain(response);
    this.#credentials.refuse(credential);
    return await this.#sendAs(await this.#credential(request.signal), request);
  }

  /** Ends all connections. Nothing may be sent afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#credentials.close();
    await Promise.all(
      [...this.#open].flatMap(({ requests, streams }) => [requests.destroy(), streams.destroy()]),
    );
  }

  async #credential(signal: AbortSignal): Promise<Credential> {
    const credential = this.#credentials.get();
    // An exec plugin may hang.
    return credential instanceof Promise ? await abortable(credential, signal) : credential;
  }

  async #sendAs(
    credential: Credential,
    { method, path, headers, body, signal, streaming, mayStart }: TransportRequest,
  ): Promise<TransportResponse> {
    signal.throwIfAborted();
    const server = this.#server();
    const { streams, requests } = this.#connectionsOf(credential, server);
    const dispatcher = streaming ? streams : requests;
    try {
      const answered = (mayStart ? askAtStart(dispatcher, mayStart) : dispatcher).request({
        origin: server.origin,
        path: `${server.pathname.replace(/\/$/, '')}${path}`,
        method,
        headers: { ...this.#ownHeaders, ...credential.headers, ...headers },
        body: body ?? null,
        signal,
      });
      // undici ends an aborted request only when its connect ends.
      const response = await abortable(answered, signal);
      return {
        status: response.statusCode,
        header: (name) => [response.headers[name]].flat()[0],
        body: response.body,
      };
    } catch (error) {
      signal.throwIfAborted();
      throw asTransportError(error, `${method} ${server.origin}${path.split('?')[0]}`);
    }
  }

  #server(): URL {
    const cluster = this.#config.getCurrentCluster();
    if (!cluster) throw new Error('the kubeconfig names no current cluster: set its current-context');
    return new URL(cluster.server);
  }

  #connectionsOf({ tlsId, tls }: Credential, { origin }: URL): Connections {
    if (this.#closed) throw new TransportError('the client is closed', 'ECLOSED', undefined);
    const now = this.#clock.now();
    const current = this.#connections;
    if (current?.tlsId === tlsId && now < current.retiresAt) return current;
    if (current) this.#retire(current);
    this.#connections = {
      tlsId,
      retiresAt: now + MAX_AGE_MS * (1 + AGE_JITTER * Math.random()),
      requests: this.#dispatcher(origin, tls, { connections: MAX_CONNECTIONS }),
      streams: this.#dispatcher(origin, tls, { bodyTimeout: 0, headersTimeout: STREAM_HEAD_MS }),
    };
    this.#open.add(this.#connections);
    return this.#connections;
  }

  #retire(old: Connections): void {
    // close() waits for what is in flight, a watch too: it is bounded by its timeoutSeconds.
    void Promise.allSettled([old.requests.close(), old.streams.close()]).then(() => this.#open.delete(old));
  }

  #dispatcher(origin: string, tls: TlsOptions, limits: Pool.Options): Dispatcher {
    const proxy = this.#config.getCurrentCluster()?.proxyUrl;
    const common = { ...limits, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };
    // TCP keep-alive below the 60 s after which cloud load balancers forget a silent connection.
    const timeout = CONNECT_TIMEOUT_MS;
    const direct = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000, timeout };
    const connect = proxy ? tunnelConnector(proxy, tls, timeout) : direct;
    // Not an Agent: one that is being closed cannot be destroyed any more.
    return new Pool(origin, { ...common, connect });
  }
}

/** Reads a body that nobody wants to its end, so that its connection can be used again. */
async function drain(response: TransportResponse): Promise<void> {
  await response.body.text().catch(() => response.body.destroy());
}
