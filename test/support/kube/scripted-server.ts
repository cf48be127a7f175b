import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/**
 * An API server on a real socket that says what a test makes it say: each request waits until the test takes it with
 * `next()` and answers it, in its own time and as wrongly as it likes.
 */
export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #arrived: ScriptedRequest[] = [];
  readonly #takers: ((request: ScriptedRequest) => void)[] = [];
  #connections = 0;
  #requests = 0;

  private constructor(tls: ServerOptions | undefined) {
    this.#server = tls ? createTlsServer(tls) : createServer();
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#connections++;
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('request', (request, response) => void this.#accept(request, response));
  }

  static async start(tls?: ServerOptions): Promise<ScriptedServer> {
    const scripted = new ScriptedServer(tls);
    await scripted.#listen(0);
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections made so far. */
  get connections(): number {
    return this.#connections;
  }

  /** Connections open now. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Requests received so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The next request that nobody has taken, when it is there. */
  next(): Promise<ScriptedRequest> {
    const request = this.#arrived.shift();
    return request ? Promise.resolve(request) : new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Cuts all connections and refuses new ones; resolves with how to come back on the same port. */
  async refuse(): Promise<() => Promise<void>> {
    const { port } = this;
    await this.close();
    return () => this.#listen(port);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  async #accept(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk);
    const request = new ScriptedRequest(message, response, Buffer.concat(chunks).toString());
    this.#requests++;
    const taker = this.#takers.shift();
    if (taker) taker(request);
    else this.#arrived.push(request);
  }
}

/** A request, and the test's side of its answer. */
export class ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly socket: Socket;
  /** Resolves when the client has hung up, or has had its whole answer. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(message: IncomingMessage, response: ServerResponse, body: string) {
    const url = new URL(message.url ?? '/', 'http://host');
    this.method = message.method ?? '';
    this.path = url.pathname;
    this.query = url.searchParams;
    this.headers = message.headers;
    this.body = body;
    this.socket = message.socket;
    this.#response = response;
    this.closed = new Promise((resolve) => response.on('close', resolve));
  }

  get isWatch(): boolean {
    return this.query.get('watch') === 'true';
  }

  /** A whole answer: JSON unless the body is a string. */
  answer(body: unknown, { status = 200, headers = {} }: { status?: number; headers?: object } = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.#response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** A refusal, as the API server words it. */
  fail(code: number, status: object = {}, headers: object = {}): void {
    this.answer(failure(code, status), { status: code, headers });
  }

  /** Begins the answer of a watch, and sends these events. */
  stream(...events: readonly object[]): this {
    if (!this.#response.headersSent) this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    return this.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  }

  /** Sends text of any kind. */
  write(text: string | Buffer): this {
    if (text.length > 0) this.#response.write(text);
    return this;
  }

  /** Ends the answer properly. */
  end(): void {
    this.#response.end();
  }

  /** Cuts the connection under the answer. */
  cut(): void {
    this.#response.socket?.resetAndDestroy();
  }
}

/** A meta/v1 Status. */
export function failure(code: number, status: object = {}): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    message: `scripted ${code}`,
    ...status,
  };
}
