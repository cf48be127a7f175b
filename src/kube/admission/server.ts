import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../util/log.ts';
import { type Connection, type ConnectionLimits, Connections, SWEEP_MS } from './connections.ts';
import type { WebhookApp } from './handler.ts';
import type { KeyPair } from './key-pair.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';

/**
 * Go's client keeps idle connections for 90 s. Whoever closes first must be the API server: a call that
 * meets a connection just being closed here fails, and then its failurePolicy decides.
 */
const KEEP_ALIVE_MS = 95_000;
/** From the first byte of a head to its last. Between calls no time counts but the one above. */
const HEAD_MS = 10_000;
/** The last resort for a body: a webhook has given it up before. */
const CALL_MS = 15_000;
/** That of an API server's call is 300 bytes. */
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
  /** By the socket that its calls come by: that within TLS. */
  readonly #secured = new WeakMap<Socket, Connection>();
  readonly #verifyClients: boolean;
  readonly #log: Logger;
  #keyPair: KeyPair | undefined;
  #clientAuthorities: string | undefined;
  #draining = false;

  /** Without a key pair, and without the authorities of clients that are verified, handshakes fail. */
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
      // What was read before it was closed goes on being parsed.
      if (socket.destroyed) return;
      if (err.code === 'ERR_HTTP_REQUEST_TIMEOUT') refused('too_slow');
      else if (err.code?.startsWith('HPE_')) refused('malformed');
      socket.destroy();
    });
    if (keyPair) this.setKeyPair(keyPair);
  }

  /** Starts to listen; resolves with the port, and rejects when it cannot be had. */
  async listen(port: number, host?: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    this.#server.on('error', (err) => this.#log.error({ err }, 'webhook server failed'));
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections get this certificate from now on. Throws when key and certificate do not match. */
  setKeyPair(keyPair: KeyPair): void {
    this.#secureWith(keyPair, this.#clientAuthorities);
  }

  /** New connections need a certificate of one of these authorities (PEM) from now on. */
  setClientAuthorities(authorities: string): void {
    this.#secureWith(this.#keyPair, authorities);
  }

  /** Asks callers, answer by answer, to connect anew, by when they find another replica. */
  drain(): void {
    this.#draining = true;
  }

  /**
   * Accepts no more connections, waits for the answers under way, and resolves when all are closed: by force
   * after that many milliseconds.
   */
  async close(graceMs: number): Promise<void> {
    this.drain();
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    const timer = setTimeout(() => {
      this.#log.warn({ connections: this.#connections.size }, 'connections closed by force');
      this.#connections.closeAll();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }

  /** Without authorities of its own, TLS would trust clients of every public one: then there is no context at all. */
  #secureWith(keyPair: KeyPair | undefined, ca: string | undefined): void {
    if (keyPair && (ca !== undefined || !this.#verifyClients)) {
      this.#server.setSecureContext({ ...TLS, ...keyPair, ...(ca !== undefined && { ca }) });
    }
    this.#keyPair = keyPair;
    this.#clientAuthorities = ca;
  }

  #followConnections(): void {
    /** Connections whose handshake is under way, by the port of the client. */
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
