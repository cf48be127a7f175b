import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import type { WebhookApp } from './app.ts';
import type { KeyPair } from './key-pair.ts';

/**
 * Go's client keeps idle connections for 90 s. Whoever closes first must be the API server: a call that
 * meets a connection just being closed here fails, and then its failurePolicy decides.
 */
const KEEP_ALIVE_MS = 95_000;
const TLS = { minVersion: 'TLSv1.2' } as const;

/** The HTTPS server that the API server calls. */
export class WebhookServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #log: Logger;
  #draining = false;

  /** Without a key pair, handshakes fail until it is given one. */
  constructor({ app, keyPair, log }: { app: WebhookApp; keyPair?: KeyPair; log: Logger }) {
    this.#log = log;
    const isLast = () => this.#draining;
    this.#server = createServer({ ...TLS, ...keyPair }, (request, response) =>
      app(request, response, isLast),
    );
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.headersTimeout = KEEP_ALIVE_MS + 5000;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', (err) => log.debug({ err }, 'TLS handshake failed'));
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
    this.#server.setSecureContext({ ...TLS, ...keyPair });
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
      this.#log.warn({ connections: this.#sockets.size }, 'connections closed by force');
      for (const socket of this.#sockets) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }
}
