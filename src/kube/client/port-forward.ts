import { type IncomingMessage, request } from 'node:http';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { WebSocket } from 'ws';
import { asTransportError, TransportError } from '../api/api-error.ts';
import { PODS } from '../api/core-resources.ts';
import { resourcePath } from '../api/resource.ts';
import { errorOf, textBodyOf } from '../api/response.ts';
import { abortable } from '../util/waits.ts';
import type { ObjectRef } from './client.ts';
import type { Transport, TransportResponse } from './transport.ts';

/** What kubelets speak: the first byte of each message is its channel. */
const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERRORS = 1;
/** The first message of each channel begins with the number of the port, in two bytes. */
const PORT_BYTES = 2;

/**
 * GETs a text from a port of a pod over a connection as of `kubectl port-forward`: through the API server and the kubelet,
 * from inside the pod's network, so that no NetworkPolicy forbids it. Needs `create` and `get` on `pods/portforward`. Not
 * client-node's PortForward, which hides what the server answers.
 * @throws ApiError for an answer that is no success, of the API server or of the pod; TransportError; the signal's reason.
 */
export async function textFromPod(
  transport: Pick<Transport, 'webSocket'>,
  pod: ObjectRef,
  { port, path }: { readonly port: number; readonly path: string },
  signal: AbortSignal,
): Promise<string> {
  const opening = resourcePath(PODS, pod, 'portforward');
  const socket = await transport.webSocket(`${opening}?ports=${port}`, PROTOCOL, signal);
  const connection = new ForwardedPort(socket);
  const answered = new Promise<string>((resolve, reject) => {
    connection.once('error', reject);
    socket.once('unexpected-response', (_request, response) =>
      errorOf(asResponse(response)).then(reject, reject),
    );
    socket.once('open', () => {
      const headers = { host: 'localhost', connection: 'close' };
      request({ createConnection: () => connection, path, headers })
        .once('response', (response) => textBodyOf(asResponse(response)).then(resolve, reject))
        .once('error', reject)
        .end();
    });
  });
  try {
    return await abortable(answered, signal);
  } catch (error) {
    throw asTransportError(error, `GET ${path} over ${opening}`);
  } finally {
    connection.destroy();
  }
}

/** An answer of Node's own client, in the form of the transport's. */
function asResponse(response: IncomingMessage): TransportResponse {
  return {
    statusCode: response.statusCode ?? 0,
    headers: response.headers,
    body: Object.assign(response, { text: () => text(response) }),
  };
}

class ForwardedPort extends Duplex {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    const began = new Set<number>();
    socket.on('message', (data) => {
      const message = Buffer.isBuffer(data) ? data : Buffer.from(String(data));
      const channel = message[0];
      if (channel !== DATA && channel !== ERRORS) return;
      const content = message.subarray(began.has(channel) ? 1 : 1 + PORT_BYTES);
      began.add(channel);
      if (content.length === 0) return;
      if (channel === ERRORS) this.destroy(new TransportError(content.toString().trim(), 'EPODPORT'));
      else if (!this.push(content)) socket.pause();
    });
    socket.on('close', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#socket.send(Buffer.concat([Buffer.of(DATA), chunk]), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }
}
