import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Connection,
  type ConnectionLimits,
  Connections,
} from '../../../../src/kube/admission/connections.ts';

let now: number;
let refused: string[];
let closed: string[];
let connections: Connections;

beforeEach(() => {
  now = 0;
  refused = [];
  closed = [];
  connections = bounded({ most: 4, busyMs: 10_000, slowMs: 1_000 });
});

function bounded(limits: ConnectionLimits): Connections {
  return new Connections({ refused: (reason) => refused.push(reason), now: () => now, limits });
}

class FakeSocket extends EventEmitter {
  readonly name: string;
  readonly remoteAddress: string;

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

function connect(name: string, address = '10.0.0.1'): Connection {
  const connection = connections.add(new FakeSocket(name, address) as unknown as Socket);
  connection.isSecure = true;
  return connection;
}

/** A call, whose answer has been read when `writableFinished` is true. */
function call(connection: Connection, { writableFinished = true } = {}) {
  const response = { writableFinished };
  connections.called(connection, response as unknown as ServerResponse);
  return response;
}

describe('a connection', () => {
  test('has ten seconds for its first call, and may then be idle forever', () => {
    call(connect('idle'));
    connect('silent');
    now = 9_999;
    connections.sweep();
    expect(closed).toEqual([]);
    now = 10_000;
    connections.sweep();
    expect([closed, refused, connections.size]).toEqual([['silent'], ['too_slow'], 1]);
    now = 95_000;
    connections.sweep();
    expect(closed).toEqual(['silent']);
  });

  test('has ten seconds from the first call whose answer is not read', () => {
    const connection = connect('greedy');
    now = 5_000;
    call(connection, { writableFinished: false });
    now = 14_000;
    call(connection, { writableFinished: false });
    connections.sweep();
    expect(closed).toEqual([]);
    now = 15_000;
    connections.sweep();
    expect(closed).toEqual(['greedy']);
  });

  test('counts as a failed handshake when it ends before its handshake', () => {
    const { socket } = connections.add(new FakeSocket('scan', '10.0.0.1') as unknown as Socket);
    socket.emit('close');
    connect('honest').socket.emit('close');
    expect([refused, connections.size]).toEqual([['handshake_failed'], 0]);
  });
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
    connections = bounded({ most: 4, busyMs: 10_000, slowMs: 0 });
    for (const name of ['a', 'b', 'c', 'd']) {
      call(connect(name), { writableFinished: false });
      now += 1;
    }
    connect('new', '10.0.0.9');
    expect(closed).toEqual(['a']);
  });
});
