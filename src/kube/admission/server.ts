import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { WebhookMetrics } from '../prometheus/index.ts';
import type { Logger } from '../util/log.ts';
import { createApp } from './app.ts';
import { Connections } from './connections.ts';
import type { ReviewHandler } from './review.ts';

/**
 * Go's client keeps idle connections for 90 s. The API server must close them first: a call on a connection that the
 * webhook is just closing fails, and then its failurePolicy applies.
 */
const KEEP_ALIVE_MS = 95_000;
/** The limit for a handshake, for a head, and for an answer of which nothing is read. */
const STEP_MS = 10_000;
/** The last limit for a body: the deadline of its call is earlier. */
const CALL_MS = 15_000;
/** How often Node checks these limits. */
const CHECK_MS = 1_000;
/** The head of an API server's call has 300 bytes. */
const MAX_HEAD_BYTES = 8 * 1024;
const TLS = { minVersion: 'TLSv1.2' } as const;
/** An API server sends a call and reads its answer within milliseconds. */
const CONNECTIONS = { most: 1000, slowMs: 1_000 };

/** A certificate, followed by the chain to its authority, and its private key; both as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface WebhookServerOptions {
  readonly log: Logger;
  readonly metrics: WebhookMetrics;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
  /** Clients must have a certificate of the authorities that `setClientAuthorities` names. */
  readonly verifyClients?: boolean;
}

/** The HTTPS server that the API server calls, with the webhooks of the process. */
export class WebhookServer {
  readonly #options: WebhookServerOptions;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #routes: Record<string, ReviewHandler> = {};
  #keyPair: KeyPair | undefined;
  #clientAuthorities: string | undefined;

  /** Handshakes fail without a key pair, and, if clients are verified, without their authorities. */
  constructor(options: WebhookServerOptions) {
    const { log, metrics, now = () => performance.now(), verifyClients = false } = options;
    this.#options = options;
    this.#server = createServer({
      ...TLS,
      requestCert: verifyClients,
      rejectUnauthorized: verifyClients,
      handshakeTimeout: STEP_MS,
      headersTimeout: STEP_MS,
      requestTimeout: CALL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
    this.#server.timeout = STEP_MS;
    this.#connections = new Connections(this.#server, { ...CONNECTIONS, refused: metrics.refused, now });
    metrics.watchConnections(() => this.#connections.size);
    this.#server.on('tlsClientError', (err) => log.debug({ err }, 'TLS handshake failed'));
    this.#server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, stream) => {
      const socket = stream as Socket;
      // Data that was read before the close is still being parsed.
      if (socket.destroyed) return;
      if (code.endsWith('_TIMEOUT')) this.#connections.refuse(socket, 'too_slow');
      else if (code.startsWith('HPE_')) this.#connections.refuse(socket, 'malformed');
      else socket.destroy();
    });
  }

  /** Adds a webhook. Call it before the server listens. */
  add(path: string, handler: ReviewHandler): void {
    this.#routes[path] = handler;
  }

  /** Starts to listen; resolves with the port, and rejects if it cannot listen. */
  async listen(port: number, host?: string): Promise<number> {
    const { log, metrics, now = () => performance.now() } = this.#options;
    this.#server.on('request', createApp(this.#routes, log, metrics, now));
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    this.#server.on('error', (err) => log.error({ err }, 'webhook server failed'));
    return (this.#server.address() as AddressInfo).port;
  }

  /** Why no call is answered; undefined while the server listens. */
  readonly failure = (): string | undefined => (this.#server.listening ? undefined : 'not listening');

  /** From now on, new connections get this certificate. @throws Error if key and certificate do not match. */
  setKeyPair(keyPair: KeyPair): void {
    this.#secureWith(keyPair, this.#clientAuthorities);
  }

  /** From now on, new connections need a certificate of one of these authorities (PEM). */
  setClientAuthorities(authorities: string): void {
    this.#secureWith(this.#keyPair, authorities);
  }

  /** Each answer from now on closes its connection, so that the caller connects to another replica. */
  drain(): void {
    this.#connections.drain();
  }

  /**
   * Accepts no more connections, waits for the answers in flight, and resolves when all connections are closed. After
   * `graceMs` it closes them by force.
   */
  async close(graceMs: number): Promise<void> {
    this.drain();
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    const timer = setTimeout(() => {
      this.#options.log.warn({ connections: this.#connections.size }, 'closed connections by force');
      this.#connections.closeAll();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }

  /** Without given authorities, TLS would trust clients of all public ones: then it sets no context. */
  #secureWith(keyPair: KeyPair | undefined, ca: string | undefined): void {
    if (keyPair && (ca !== undefined || !this.#options.verifyClients)) {
      this.#server.setSecureContext({ ...TLS, ...keyPair, ...(ca !== undefined && { ca }) });
    }
    this.#keyPair = keyPair;
    this.#clientAuthorities = ca;
  }
}
