import { once } from 'node:events';
import {
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';

/** A call that the server got. */
export interface SeenCall {
  /** The address at which it came. */
  readonly at: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** What a client reads of a call. */
export interface CallResult {
  readonly http: number;
  /** The number of the gRPC status. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Undefined if no server answered. */
  readonly at?: string;
}

/** A server of gRPC in plain text, for all services and methods, behind all addresses of this machine. */
export class GrpcServer {
  readonly calls: SeenCall[] = [];
  /** The gRPC statuses of the next answers: 0 when there are none. */
  readonly statuses: number[] = [];
  /** End the calls with a header `hold`, which have their headers. */
  readonly held: (() => void)[] = [];
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const at = stream.session?.socket.localAddress ?? '';
      this.calls.push({ at, path: headers[':path'] ?? '', headers });
      const status = this.statuses.shift() ?? 0;
      const answer = { ':status': 200, 'content-type': 'application/grpc', 'given-at': at };
      // An error without a message comes in one frame.
      if (status !== 0) stream.respond({ ...answer, 'grpc-status': `${status}` }, { endStream: true });
      else {
        stream.respond(answer, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        const end = () => stream.end(Buffer.alloc(5));
        if (headers.hold === undefined) end();
        else this.held.push(end);
      }
      stream.resume();
    });
  }

  static async start(): Promise<GrpcServer> {
    const server = createServer();
    server.listen(0, '::');
    await once(server, 'listening');
    return new GrpcServer(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
  }
}

/** Makes a call with an empty message. `path` is `/service/method`. */
export async function call(
  socket: Socket,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<CallResult> {
  const session = connect('http://a.test', { createConnection: () => socket });
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  let trailers: IncomingHttpHeaders = {};
  stream.on('trailers', (given: IncomingHttpHeaders) => {
    trailers = given;
  });
  const answered = once(stream, 'response');
  stream.end(Buffer.alloc(5));
  stream.resume();
  const [answer]: IncomingHttpHeaders[] = await answered;
  if (!stream.closed) await once(stream, 'close');
  session.destroy();
  const at = answer?.['given-at'];
  return {
    http: Number(answer?.[':status']),
    status: Number(answer?.['grpc-status'] ?? trailers['grpc-status']),
    headers: answer ?? {},
    ...(typeof at === 'string' && { at }),
  };
}
