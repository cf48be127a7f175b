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
  /** From when a connection is opened, or a call begins, until its answer is taken; in milliseconds. */
  readonly busyMs: number;
  /** From when a busy connection gives way to a new one, in milliseconds. */
  readonly slowMs: number;
}

/** How often connections are looked at whose time may be up. */
export const SWEEP_MS = 1000;

/** An API server sends a call, and takes its answer, within milliseconds. */
const LIMITS: ConnectionLimits = { most: 1000, busyMs: 10_000, slowMs: 1_000 };

/** One connection of a client. */
export interface Connection {
  readonly socket: Socket;
  /** The address of the client. */
  readonly peer: string;
  /** When it was opened, or when it last became busy. */
  since: number;
  /** Of the last call; none before the first. */
  response: ServerResponse | undefined;
  isSecure: boolean;
}

/**
 * The open connections of a server. Each has a short time for its handshake, for its first call, and for each answer.
 * One that has been answered may be idle. Beyond the limit one of the address with the most connections gives way, so
 * that many connections of one client keep no other out.
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

  /** Adds each connection of the server, tells `onOpen` of it, and sweeps them while the server listens. */
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
    // Of calls that are sent before the answers to those before are taken, the first one's time counts.
    if (!isBusy(connection) || connection.response === undefined) connection.since = this.#options.now();
    connection.response = response;
  }

  /** Closes connections whose time is up. */
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
   * Of the address with the most connections, but not the newest, one of those that wait for their first call or of
   * those that are idle, whichever are more: the oldest. Where all of them are busy, the one that has been for longest,
   * if that is long.
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

/** Idle is a connection whose last answer has been taken. */
function isBusy({ response }: Connection): boolean {
  return response?.writableFinished !== true;
}
