import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** Accepts connections and never says a word. */
export class SilentServer {
  /** Resolves with the first connection. */
  readonly connected: Promise<unknown>;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.connected = once(server, 'connection');
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).resume();
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(): Promise<SilentServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SilentServer(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}
