import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import type { TestAuthority } from '../kube/test-authority.ts';

/** What a port-forward asked for. */
interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The common name of the client certificate. */
  readonly user: string;
}

/** An API server that forwards ports, with the protocol of kubelets, to ports of this machine, and has a few objects. */
export class KubeletPorts {
  readonly asked: Asked[] = [];
  /** The answer instead of a WebSocket, such as `403 Forbidden`, with this body. */
  refusal: { readonly status: string; readonly body: string } | undefined;
  /** Forward nothing, and say nothing; of a refusal, say all but its end. */
  isSilent = false;
  /** The port of this machine for a port of a pod. */
  portFor: (path: string, port: number) => number = (_, port) => port;
  /** The objects of the API by their path, without the query; others are not found. */
  readonly objects = new Map<string, object>();
  /** The connections for port-forwards, also refused ones. */
  readonly connections = new Set<Duplex>();
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', ({ url = '' }, response) => {
      const found = this.objects.get(url.split('?')[0] ?? '');
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? { kind: 'Status', code: 404, message: `no ${url}` }));
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const { url = '', headers } = request;
      const user = String((request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? '');
      this.asked.push({ path: url, headers, user });
      this.connections.add(socket);
      socket.once('close', () => this.connections.delete(socket));
      if (this.refusal) {
        const { status, body } = this.refusal;
        const head = `HTTP/1.1 ${status}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
        if (this.isSilent) socket.write(head + body.slice(0, -1));
        else socket.end(head + body);
        return;
      }
      if (this.isSilent) return;
      const port = this.portFor(url, Number(new URL(url, 'http://any').searchParams.get('ports')));
      // The answer and the first messages come together.
      socket.cork();
      this.#sockets.handleUpgrade(request, socket, head, (webSocket) => forward(webSocket, port));
      socket.uncork();
    });
  }

  static async start(authority: TestAuthority): Promise<KubeletPorts> {
    const { certPem: cert, keyPem: key } = await authority.server();
    const tls = { cert, key, ca: authority.caPem, requestCert: true, rejectUnauthorized: false };
    const ports = new KubeletPorts(createServer(tls));
    ports.#server.listen(0, '127.0.0.1');
    await once(ports.#server, 'listening');
    return ports;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The WebSockets that are open. */
  get open(): number {
    return this.#sockets.clients.size;
  }

  async close(): Promise<void> {
    for (const socket of this.connections) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** As a kubelet does: channel 0 is data, 1 errors; each begins with the number of the port. */
function forward(socket: WebSocket, port: number): void {
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.of(channel), number]));
  const target = connect(port, '127.0.0.1');
  target.on('data', (data: Buffer) => socket.send(Buffer.concat([Buffer.of(0), data])));
  target.on('error', (error) => {
    socket.send(
      Buffer.concat([Buffer.of(1), Buffer.from(`error forwarding port ${port}: ${error.message}`)]),
    );
    socket.close();
  });
  target.on('close', () => socket.close());
  socket.on('message', (message: Buffer) => target.write(message.subarray(1)));
  socket.on('close', () => target.destroy());
}
