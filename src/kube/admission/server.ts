import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../util/log.ts';
import { type Connection, type ConnectionLimits, Connections, SWEEP_MS } from './connections.ts';
import type { WebhookApp } from './handler.ts';
import type { KeyPair } from './key-pair.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

/**
 * Go's client keeps idle connections for 90 s. The API server must close them first: a call on a connection that the
 * webhook is just closing fails, and then its failurePolicy applies.
 */
const KEEP_ALIVE_MS = 95_000;
/** The limit from the first to the last byte of a head. Between calls, only the limit above applies. */
const HEAD_MS = 10_000;
/** The last limit for a body: the deadline of its call is earlier. */
const CALL_MS = 15_000;
/** The head of an API server's call has 300 bytes. */
const MAX_HEAD_BYTES = 8 * 1024;
const TLS = { minVersion: 'TLSv1.2' } as const;

export interface WebhookServerOptions {
  readonly app: WebhookApp;
  readonly log: Logger;
  readonly metrics: Pick<WebhookMetrics, 'refused' | 'watchConnections'>;
  readonly keyPair?: KeyPair;
  /** Clients must have a certificate of the authorities that `setClientAuthorities` names. */
  readonly verifyClients?: boolean;
  readonly limits?: ConnectionLimits;
}

/** The HTTPS server that the API server calls. */
export class WebhookServer {
  readonly #server: Server;
  readonly #connections: Connections;
  /** Connections by the TLS socket of their calls. */
  readonly #secured = new WeakMap<Socket, Connection>();
  readonly #verifyClients: boolean;
  readonly #log: Logger;
  #keyPair: KeyPair | undefined;
  #clientAuthorities: string | undefined;
  #draining = false;

  /** Handshakes fail without a key pair, and, if clients are verified, without their authorities. */
  constructor({ app, log, metrics, keyPair, verifyClients = false, limits }: WebhookServerOptions) {
    const { refused } = metrics;
    this.#log = log;
    this.#verifyClients = verifyClients;
    this.#connections = new Connections({ refused, now: () => performance.now(), limits });
    metrics.watchConnections(() => this.#connections.size);
    const isLast = () => this.#draining;
    this.#server = createServer(
      {
        ...TLS,
        requestCert: verifyClients,
        rejectUnauthorized: verifyClients,
        keepAliveTimeout: KEEP_ALIVE_MS,
        headersTimeout: HEAD_MS,
        requestTimeout: CALL_MS,
        connectionsCheckingInterval: SWEEP_MS,
        maxHeaderSize: MAX_HEAD_BYTES,
      },
      (request, response) => {
        const connection = this.#secured.get(request.socket);
        if (connection) this.#connections.called(connection, response);
        return app(request, response, isLast);
      },
    );
    this.#followConnections();
    this.#server.on('tlsClientError', (err) => log.debug({ err }, 'TLS handshake failed'));
    this.#server.on('clientError', (err: NodeJS.ErrnoException, socket) => {
      // Data that was read before the close is still being parsed.
      if (socket.destroyed) return;
      if (err.code === 'ERR_HTTP_REQUEST_TIMEOUT') refused('too_slow');
      else if (err.code?.startsWith('HPE_')) refused('malformed');
      socket.destroy();
    });
    if (keyPair) this.setKeyPair(keyPair);
  }

  /** Starts to listen; resolves with the port, and rejects if it cannot listen. */
  async listen(port: number, host?: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    this.#server.on('error', (err) => this.#log.error({ err }, 'webhook server failed'));
    return (this.#server.address() as AddressInfo).port;
  }

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
    this.#draining = true;
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
      this.#log.warn({ connections: this.#connections.size }, 'closed connections by force');
      this.#connections.closeAll();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }

  /** Without given authorities, TLS would trust clients of all public ones: then it sets no context. */
  #secureWith(keyPair: KeyPair | undefined, ca: string | undefined): void {
    if (keyPair && (ca !== undefined || !this.#verifyClients)) {
      this.#server.setSecureContext({ ...TLS, ...keyPair, ...(ca !== undefined && { ca }) });
    }
    this.#keyPair = keyPair;
    this.#clientAuthorities = ca;
  }

  #followConnections(): void {
    /** Connections during their handshake, by the port of the client. */
    const shaking = new Map<string, Connection>();
    const endOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
    this.#connections.follow(this.#server, (connection) => {
      const end = endOf(connection.socket);
      shaking.set(end, connection);
      connection.socket.once('close', () => {
        if (shaking.get(end) === connection) shaking.delete(end);
      });
    });
    this.#server.on('secureConnection', (socket) => {
      const end = endOf(socket);
      const connection = shaking.get(end);
      shaking.delete(end);
      if (!connection) return void socket.destroy();
      connection.isSecure = true;
      this.#secured.set(socket, connection);
    });
  }
}
