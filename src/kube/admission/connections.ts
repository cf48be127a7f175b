import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { RefusalReason } from './http-error.ts';

export interface ConnectionsOptions {
  /** Connections that are open at once. */
  readonly most: number;
  /** A connection that is busy for this long gives way to a new one, in milliseconds. */
  readonly slowMs: number;
  readonly refused?: (reason: RefusalReason) => void;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** One connection of a client. */
interface Connection {
  readonly socket: Socket;
  /** The address of the client. */
  readonly peer: string;
  /** When it was opened, or when it last became busy. */
  since: number;
  /** The response of the last call; undefined before the first. */
  response: ServerResponse | undefined;
  isSecure: boolean;
}

/**
 * The open connections of an HTTP or HTTPS server. Node limits the time of each. Their number is limited here, since
 * `server.maxConnections` would refuse new clients: beyond the limit, a connection of the address with the most
 * connections gives way, so that many connections of one client do not keep others out.
 */
export class Connections {
  readonly #options: Required<ConnectionsOptions>;
  /** By the address and port of the client: the socket of a call is another one than that of its handshake. */
  readonly #open = new Map<string, Connection>();
  #isDraining = false;

  constructor(server: Server, options: ConnectionsOptions) {
    this.#options = { refused: () => undefined, now: () => performance.now(), ...options };
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('secureConnection', (socket: Socket) => {
      const connection = this.#open.get(endOf(socket));
      if (connection) connection.isSecure = true;
      else socket.destroy();
    });
    server.on('request', ({ socket }: { socket: Socket }, response: ServerResponse) => {
      const connection = this.#open.get(endOf(socket));
      if (connection) this.#called(connection, response);
      if (this.#isDraining) response.setHeader('Connection', 'close');
    });
    server.on('timeout', (socket: Socket) => {
      const connection = this.#open.get(endOf(socket));
      if (connection && isBusy(connection)) this.refuse(socket, 'too_slow');
      else socket.destroy();
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Each answer from now on closes its connection. */
  drain(): void {
    this.#isDraining = true;
    for (const { response } of this.#open.values())
      if (response && !response.headersSent) response.setHeader('Connection', 'close');
  }

  /** Closes the connection of the socket. */
  refuse(socket: Socket, reason: RefusalReason): void {
    this.#open.delete(endOf(socket));
    this.#options.refused(reason);
    socket.destroy();
  }

  closeAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }

  #add(socket: Socket): void {
    const { most, now, refused } = this.#options;
    const end = endOf(socket);
    const peer = socket.remoteAddress ?? '';
    const connection: Connection = { socket, peer, since: now(), response: undefined, isSecure: false };
    this.#open.set(end, connection);
    socket.once('close', () => {
      if (this.#open.get(end) !== connection) return;
      this.#open.delete(end);
      if (!connection.isSecure) refused('handshake_failed');
    });
    if (this.#open.size > most)
      this.refuse((this.#leastNeeded(connection) ?? connection).socket, 'too_many_connections');
  }

  #called(connection: Connection, response: ServerResponse): void {
    // With pipelined calls, the time of the first call counts until all answers are read.
    if (!isBusy(connection) || connection.response === undefined) connection.since = this.#options.now();
    connection.response = response;
  }

  /**
   * Chooses a connection of the address with the most connections, except the newest one. It is the oldest of those
   * that wait for their first call or of those that are idle, whichever are more. If all are busy, it is the one that
   * is busy the longest, if that is long enough.
   */
  #leastNeeded(newest: Connection): Connection | undefined {
    const byPeer = Map.groupBy(this.#open.values(), ({ peer }) => peer);
    const [greediest = []] = [...byPeer.values()].toSorted((a, b) => b.length - a.length);
    const others = greediest.filter((each) => each !== newest);
    const waiting = others.filter(({ response }) => response === undefined);
    const idle = others.filter((each) => !isBusy(each));
    const spare = waiting.length >= idle.length ? waiting : idle;
    const before = this.#options.now() - this.#options.slowMs;
    const crowd = spare.length > 0 ? spare : others.filter(({ since }) => since <= before);
    return crowd.toSorted((a, b) => a.since - b.since)[0];
  }
}

/** A connection is idle when the client has read its last answer. */
function isBusy({ response }: Connection): boolean {
  return response?.writableFinished !== true;
}

/** The client's end of a connection. */
function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
