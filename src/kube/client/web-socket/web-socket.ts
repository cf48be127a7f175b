import { Agent, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { buildConnector } from 'undici';
import WebSocket from 'ws';
import { abortable } from '../../util/linked-abort.ts';

export interface WebSocketOptions {
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Opens the connection to the server. */
  readonly connect: buildConnector.connector;
  readonly signal: AbortSignal;
}

/**
 * Opens a WebSocket, which is paused, or resolves to the answer of a server that refuses it. The caller ends both.
 * @throws the signal's reason; any error of the connection.
 */
export async function openWebSocket(
  url: URL,
  options: WebSocketOptions,
): Promise<WebSocket | IncomingMessage> {
  const { protocol, headers, connect, signal } = options;
  // Node asks an agent for the protocol of the URL.
  const agent = Object.assign(new Connecting(url, connect), { protocol: url.protocol });
  const socket = new WebSocket(url, [protocol], {
    agent,
    perMessageDeflate: false,
    finishRequest(request) {
      for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
      request.end();
    },
  });
  const opened = new Promise<WebSocket | IncomingMessage>((resolve, reject) => {
    socket.once('open', () => {
      // Messages may come at once, before the caller listens.
      socket.pause();
      resolve(socket);
    });
    // Not once: terminate() causes another one.
    socket.on('error', reject);
    socket.once('unexpected-response', (_request, response) => resolve(response));
  });
  try {
    return await abortable(opened, signal);
  } catch (error) {
    socket.terminate();
    throw error;
  }
}

/** The connections of one WebSocket, by a connector of undici, which knows the proxy and the certificates. */
class Connecting extends Agent {
  readonly #url: URL;
  readonly #connect: buildConnector.connector;

  constructor(url: URL, connect: buildConnector.connector) {
    super();
    this.#url = url;
    this.#connect = connect;
  }

  override createConnection(
    _options: unknown,
    done: (error: Error | null, connection: Duplex) => void = () => {},
  ): undefined {
    const { hostname, host, port, protocol } = this.#url;
    const target = { hostname: hostname.replace(/^\[|\]$/g, ''), host, port };
    this.#connect({ ...target, protocol: protocol.replace('ws', 'http') }, (error, socket) => {
      // Node reads the socket only without an error.
      done(error, socket as Duplex);
    });
  }
}
