import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A load balancer of connections: each goes to the next of its ports. */
export class LoadBalancer {
  readonly #server: Server;
  readonly #ports: number[];
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = [...ports];
    this.#server = createServer((socket) => this.#pass(socket));
  }

  static async start(...ports: readonly number[]): Promise<LoadBalancer> {
    const balancer = new LoadBalancer(ports);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections made so far. */
  get connections(): number {
    return this.#connections;
  }

  join(port: number): void {
    this.#ports.push(port);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(socket: Socket): void {
    const port = this.#ports[this.#connections++ % this.#ports.length] ?? 0;
    const onward = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#sockets.add(one);
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
    }
    socket.pipe(onward).pipe(socket);
  }
}
