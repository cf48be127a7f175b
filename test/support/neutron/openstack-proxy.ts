import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { CertificateAndKey } from '../../../src/certificates/x509/authority.ts';

/** What happens to a request. `unanswered`: it is done, and nobody is told. */
export type Mishap =
  | { readonly kind: 'refused' | 'unanswered' | 'hangs' }
  | { readonly kind: 'answers'; readonly status: number; readonly body: string };

interface Passing {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
}

/** A proxy before a real service of OpenStack, that can be told to spoil what passes. */
export class OpenStackProxy {
  readonly passed: Passing[] = [];
  /** Asked for each request: nothing, and it passes. */
  mishap: (request: Passing) => Mishap | undefined = () => undefined;
  /** Resolves when somebody has waited in vain for what hangs. */
  readonly givenUp: Promise<void>;
  #onGivenUp: () => void = () => undefined;
  readonly #server: Server;
  readonly #scheme: 'http' | 'https';
  readonly #upstream: string;
  readonly #sockets = new Set<Socket>();

  private constructor(upstream: string, identity: CertificateAndKey | undefined) {
    this.#upstream = upstream;
    this.givenUp = new Promise((resolve) => {
      this.#onGivenUp = resolve;
    });
    this.#scheme = identity ? 'https' : 'http';
    const meet = (request: IncomingMessage, response: ServerResponse) => this.#meet(request, response);
    this.#server = identity
      ? createTlsServer({ cert: identity.certPem, key: identity.keyPem }, meet)
      : createServer(meet);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    });
  }

  /** With an identity it is by TLS that one comes to it. */
  static async start(upstream: string, identity?: CertificateAndKey): Promise<OpenStackProxy> {
    const proxy = new OpenStackProxy(upstream, identity);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on all pass, and are counted anew. */
  heal(): void {
    this.passed.length = 0;
    this.mishap = () => undefined;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #meet(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    const passing = { method, url };
    const mishap = this.mishap(passing);
    this.passed.push(passing);
    switch (mishap?.kind) {
      case 'refused':
        request.socket.destroy();
        return;
      case 'hangs':
        request.socket.once('close', this.#onGivenUp);
        return;
      case 'answers':
        response.writeHead(mishap.status, { 'content-type': 'application/json' }).end(mishap.body);
        return;
      case 'unanswered':
        this.#pass(request, () => request.socket.destroy());
        return;
      case undefined:
        this.#pass(request, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
    }
  }

  #pass(request: IncomingMessage, answered: (answer: IncomingMessage) => void): void {
    const { method, url, headers } = request;
    const onward = sendRequest(`${this.#upstream}${url}`, { method, headers, agent: false });
    onward.on('response', answered).on('error', () => request.socket.destroy());
    request.pipe(onward);
  }
}
