import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A proxy that makes tunnels (HTTP CONNECT), or answers with another status. */
export class ConnectProxy {
  /** The answer to the next tunnels. */
  status = '200 Connection established';
  /** What was asked for: target and credentials. */
  readonly asked: { readonly target: string; readonly authorization: string | undefined }[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(tls: ServerOptions | undefined) {
    this.#server = tls ? createTlsServer(tls) : createServer();
    this.#server.on('connect', (request: IncomingMessage, socket: Socket) => this.#tunnel(request, socket));
  }

  static async start(tls?: ServerOptions): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(tls);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openTunnels(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #tunnel(request: IncomingMessage, socket: Socket): void {
    const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(request.url ?? '') ?? [];
    this.asked.push({ target: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    if (!this.status.startsWith('200')) {
      socket.end(`HTTP/1.1 ${this.status}\r\n\r\n`);
      return;
    }
    const onward = connect(Number(port), host);
    this.#sockets.add(socket);
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket
      .on('error', () => onward.destroy())
      .on('close', () => {
        this.#sockets.delete(socket);
        onward.destroy();
      });
    onward.once('connect', () => {
      socket.write(`HTTP/1.1 ${this.status}\r\n\r\n`);
      socket.pipe(onward).pipe(socket);
    });
  }
}
