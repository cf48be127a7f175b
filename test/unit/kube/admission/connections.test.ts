import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Connections } from '../../../../src/kube/admission/connections.ts';

let now: number;
let refused: string[];
let closed: string[];
let server: EventEmitter;
let ports: number;

function limit(slowMs: number): Connections {
  server = new EventEmitter();
  const refuse = (reason: string) => void refused.push(reason);
  return new Connections(server as Server, { most: 4, slowMs, refused: refuse, now: () => now });
}

beforeEach(() => {
  [now, ports, refused, closed] = [0, 0, [], []];
  limit(1_000);
});

class FakeSocket extends EventEmitter {
  readonly name: string;
  readonly remoteAddress: string;
  readonly remotePort = ++ports;

  constructor(name: string, remoteAddress: string) {
    super();
    this.name = name;
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    closed.push(this.name);
    this.emit('close');
  }
}

function connect(name: string, address = '10.0.0.1'): FakeSocket {
  const socket = new FakeSocket(name, address);
  server.emit('connection', socket);
  if (!closed.includes(name)) server.emit('secureConnection', socket);
  return socket;
}

/** A call, whose answer has been read when `writableFinished` is true. */
function call(socket: FakeSocket, { writableFinished = true } = {}): void {
  server.emit('request', { socket }, { writableFinished });
}

test('a connection that ends before its handshake counts as a failed one', () => {
  const connections = limit(1_000);
  const socket = new FakeSocket('scan', '10.0.0.1');
  server.emit('connection', socket);
  socket.destroy();
  connect('honest').destroy();
  expect([refused, connections.size]).toEqual([['handshake_failed'], 0]);
});

test('a connection without progress is too slow, unless it is idle between two calls', () => {
  const [idle, silent, unread] = [connect('idle'), connect('silent'), connect('unread')];
  call(idle);
  call(unread, { writableFinished: false });
  for (const socket of [idle, silent, unread]) server.emit('timeout', socket);
  expect([closed, refused]).toEqual([
    ['idle', 'silent', 'unread'],
    ['too_slow', 'too_slow'],
  ]);
});

describe('of more connections than the limit', () => {
  test('the oldest without a call gives way if these are the most', () => {
    call(connect('kept'));
    now = 1;
    for (const name of ['first', 'second', 'third', 'fourth']) connect(name);
    expect([closed, refused]).toEqual([['first'], ['too_many_connections']]);
  });

  test('the one that has been idle for longest gives way if these are the most', () => {
    const active = connect('active');
    for (const name of ['idle', 'also idle']) call(connect(name));
    now = 1;
    call(active);
    connect('shaking');
    connect('new');
    expect(closed).toEqual(['idle']);
  });

  test('one of the address with the most connections gives way, however new it is', () => {
    for (const name of ['api server 1', 'api server 2']) connect(name, '10.0.0.9');
    now = 5_000;
    for (const name of ['flood 1', 'flood 2', 'flood 3']) connect(name);
    expect(closed).toEqual(['flood 1']);
  });

  test('the new one gives way if all others of the address were called within a second', () => {
    for (const name of ['a', 'b', 'c', 'd']) call(connect(name), { writableFinished: false });
    connect('new', '10.0.0.9');
    expect(closed).toEqual(['new']);
  });

  test('the one that has been busy for longest gives way if all are busy, for more than a second', () => {
    for (const name of ['first', 'second', 'third', 'fourth']) {
      call(connect(name), { writableFinished: false });
      now += 400;
    }
    connect('new');
    expect(closed).toEqual(['first']);
  });

  test('the oldest of the address gives way if all are busy, even for a short time, with slowMs 0', () => {
    limit(0);
    for (const name of ['a', 'b', 'c', 'd']) {
      call(connect(name), { writableFinished: false });
      now += 1;
    }
    connect('new', '10.0.0.9');
    expect(closed).toEqual(['a']);
  });
});
