import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { RefusalReason } from './http-error.ts';

export interface ConnectionsOptions {
  readonly refused: (reason: RefusalReason) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly limits?: ConnectionLimits | undefined;
}

export interface ConnectionLimits {
  /** Connections that are open at once. */
  readonly most: number;
  /** The limit from the opening of a connection, or the start of a call, until the client has read the answer. */
  readonly busyMs: number;
  /** A connection that is busy for this long gives way to a new one, in milliseconds. */
  readonly slowMs: number;
}

/** How often connections are checked for their limits. */
export const SWEEP_MS = 1000;

/** An API server sends a call and reads its answer within milliseconds. */
const LIMITS: ConnectionLimits = { most: 1000, busyMs: 10_000, slowMs: 1_000 };

/** One connection of a client. */
export interface Connection {
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
 * The open connections of a server. Each has a short time for its handshake, for its first call, and for each answer.
 * After an answer it may be idle. Beyond the limit, a connection of the address with the most connections gives way, so
 * that many connections of one client do not keep others out.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #limits: ConnectionLimits;
  readonly #open = new Set<Connection>();
  readonly #byPeer = new Map<string, Set<Connection>>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Adds each connection of the server, calls `onOpen` with it, and sweeps them while the server listens. */
  follow(server: Server, onOpen: (connection: Connection) => void): void {
    server.on('connection', (socket: Socket) => onOpen(this.add(socket)));
    let timer: NodeJS.Timeout | undefined;
    server.on('listening', () => {
      timer = setInterval(() => this.sweep(), SWEEP_MS).unref();
    });
    server.on('close', () => clearInterval(timer));
  }

  add(socket: Socket): Connection {
    const { now, refused } = this.#options;
    const peer = socket.remoteAddress ?? '';
    const connection: Connection = { socket, peer, since: now(), response: undefined, isSecure: false };
    this.#open.add(connection);
    const ofPeer = this.#byPeer.get(peer) ?? new Set();
    this.#byPeer.set(peer, ofPeer.add(connection));
    socket.once('close', () => {
      if (this.#remove(connection) && !connection.isSecure) refused('handshake_failed');
    });
    if (this.#open.size > this.#limits.most)
      this.#refuse(this.#leastNeeded(connection) ?? connection, 'too_many_connections');
    return connection;
  }

  /** A call begins. */
  called(connection: Connection, response: ServerResponse): void {
    // With pipelined calls, the time of the first call counts until all answers are read.
    if (!isBusy(connection) || connection.response === undefined) connection.since = this.#options.now();
    connection.response = response;
  }

  /** Closes connections beyond their time limit. */
  sweep(): void {
    const before = this.#options.now() - this.#limits.busyMs;
    for (const connection of this.#open) {
      if (isBusy(connection) && connection.since <= before) this.#refuse(connection, 'too_slow');
    }
  }

  closeAll(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #refuse(connection: Connection, reason: RefusalReason): void {
    this.#remove(connection);
    this.#options.refused(reason);
    connection.socket.destroy();
  }

  #remove(connection: Connection): boolean {
    const ofPeer = this.#byPeer.get(connection.peer);
    ofPeer?.delete(connection);
    if (ofPeer?.size === 0) this.#byPeer.delete(connection.peer);
    return this.#open.delete(connection);
  }

  /**
   * Chooses a connection of the address with the most connections, except the newest one. It is the oldest of those
   * that wait for their first call or of those that are idle, whichever are more. If all are busy, it is the one that
   * is busy the longest, if that is long enough.
   */
  #leastNeeded(newest: Connection): Connection | undefined {
    let greediest: ReadonlySet<Connection> = new Set();
    for (const ofPeer of this.#byPeer.values()) if (ofPeer.size > greediest.size) greediest = ofPeer;
    const waiting: Connection[] = [];
    const idle: Connection[] = [];
    const slow: Connection[] = [];
    const before = this.#options.now() - this.#limits.slowMs;
    for (const connection of greediest) {
      if (connection === newest) continue;
      if (connection.response === undefined) waiting.push(connection);
      else if (!isBusy(connection)) idle.push(connection);
      else if (connection.since <= before) slow.push(connection);
    }
    const spare = waiting.length >= idle.length ? waiting : idle;
    const crowd = spare.length > 0 ? spare : slow;
    return crowd.toSorted((a, b) => a.since - b.since)[0];
  }
}

/** A connection is idle when the client has read its last answer. */
function isBusy({ response }: Connection): boolean {
  return response?.writableFinished !== true;
}
