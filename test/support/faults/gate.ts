import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** A port on which no connect completes. */
interface BlackHole {
  close(): Promise<void>;
}

/** A listener that accepts nothing: its thread sleeps from the moment that it listens until it is woken. */
const SLEEPER = `
  const { parentPort, workerData: { port, awake } } = require('node:worker_threads');
  const listener = require('node:net').createServer((socket) => socket.destroy());
  listener.listen({ port, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage('listening');
    Atomics.wait(awake, 0, 0);
    listener.close();
  });
`;

/** Connections that Linux queues for a listener of backlog 1: one more than that. It drops the SYNs of all others. */
const QUEUED = 2;

async function openBlackHole(port: number): Promise<BlackHole> {
  const awake = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(SLEEPER, { eval: true, workerData: { port, awake } });
  await once(worker, 'message');
  // Where a client is quicker, its connection fills the queue as well, and is as mute.
  const fillers = Array.from({ length: QUEUED }, () =>
    connect(port, '127.0.0.1').on('error', () => undefined),
  );
  // Loopback answers within the call, and the calls are made by then.
  await eventLoopTurn();
  return {
    async close() {
      const ended = once(worker, 'exit');
      Atomics.store(awake, 0, 1);
      Atomics.notify(awake, 0);
      for (const filler of fillers) filler.destroy();
      await ended;
    },
  };
}

/** What a gate does with connections that come to it. */
export type GateState =
  /** Hands them on. */
  | 'open'
  /** Refuses them: nothing listens. */
  | 'closed'
  /** Accepts them, and never answers: not even a TLS handshake. */
  | 'mute'
  /** Drops their SYNs: no connect completes. */
  | 'black hole';

/** A port on loopback before a server. It decides about new connections; open ones it only counts and cuts. */
export class Gate {
  readonly #serve: (socket: Socket) => void;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that wait for an answer, and what hands each on. */
  readonly #held = new Map<Socket, () => void>();
  #state: GateState = 'closed';
  #changing: Promise<void> = Promise.resolve();
  #blackHole: BlackHole | undefined;
  #port = 0;

  constructor(serve: (socket: Socket) => void) {
    this.#serve = serve;
    this.#listener = createServer((socket) => this.#take(socket));
  }

  /** Known from the first time that it is open. */
  get port(): number {
    return this.#port;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** From now on new connections meet this; those that are held stay so. */
  set(state: GateState): Promise<void> {
    this.#changing = this.#changing.then(() => this.#change(state));
    return this.#changing;
  }

  /** Hands on what is held: the server was slow, not away. */
  release(): void {
    for (const handOn of this.#held.values()) handOn();
    this.#held.clear();
  }

  /** Cuts the open connections, but those that come from these ports. */
  cut(except: ReadonlySet<number | undefined> = new Set()): void {
    for (const socket of this.#sockets) if (!except.has(socket.remotePort)) socket.destroy();
  }

  async #change(state: GateState): Promise<void> {
    if (state === this.#state) return;
    this.#state = state;
    await this.#blackHole?.close();
    this.#blackHole = undefined;
    if (state === 'open' || state === 'mute') await this.#listen();
    else this.#listener.close();
    if (state === 'black hole') this.#blackHole = await openBlackHole(this.#port);
  }

  async #listen(): Promise<void> {
    if (this.#listener.listening) return;
    await new Promise<void>((resolve) => this.#listener.listen(this.#port, '127.0.0.1', resolve));
    const address = this.#listener.address();
    if (typeof address === 'object' && address) this.#port = address.port;
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    if (this.#state === 'mute') this.#hold(socket);
    else this.#serve(socket);
  }

  /** Reads what comes, so that the end of the connection is seen, and keeps it. */
  #hold(socket: Socket): void {
    const chunks: Buffer[] = [];
    const keep = (chunk: Buffer) => chunks.push(chunk);
    socket.on('data', keep).on('close', () => this.#held.delete(socket));
    this.#held.set(socket, () => {
      socket.off('data', keep).pause();
      socket.unshift(Buffer.concat(chunks));
      this.#serve(socket);
    });
  }
}
