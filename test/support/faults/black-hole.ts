import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** A port on which no connect completes. */
export interface BlackHole {
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

export async function openBlackHole(port: number): Promise<BlackHole> {
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
