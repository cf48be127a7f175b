import { EventEmitter } from 'node:events';
import type { Server } from 'node:net';
import { beforeEach, expect, test } from '@jest/globals';
import { BodyBudget } from '../../../../src/kube/admission/body-budget.ts';
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

test('the oldest connection without a call gives way beyond the limit if these are the most', () => {
  call(connect('kept'));
  now = 1;
  for (const name of ['first', 'second', 'third', 'fourth']) connect(name);
  expect([closed, refused]).toEqual([['first'], ['too_many_connections']]);
});

test('the connection that has been idle for longest gives way beyond the limit if these are the most', () => {
  const active = connect('active');
  for (const name of ['idle', 'also idle']) call(connect(name));
  now = 1;
  call(active);
  connect('shaking');
  connect('new');
  expect(closed).toEqual(['idle']);
});

test('a connection of the address with the most gives way beyond the limit, however new it is', () => {
  for (const name of ['api server 1', 'api server 2']) connect(name, '10.0.0.9');
  now = 5_000;
  for (const name of ['flood 1', 'flood 2', 'flood 3']) connect(name);
  expect(closed).toEqual(['flood 1']);
});

test('a new connection gives way if all others of its address were called within a second', () => {
  for (const name of ['a', 'b', 'c', 'd']) call(connect(name), { writableFinished: false });
  connect('new', '10.0.0.9');
  expect(closed).toEqual(['new']);
});

test('the connection that has been busy for longest gives way if all are busy for more than a second', () => {
  for (const name of ['first', 'second', 'third', 'fourth']) {
    call(connect(name), { writableFinished: false });
    now += 400;
  }
  connect('new');
  expect(closed).toEqual(['first']);
});

test('the oldest connection of the address gives way if all are busy, even shortly, with slowMs 0', () => {
  limit(0);
  for (const name of ['a', 'b', 'c', 'd']) {
    call(connect(name), { writableFinished: false });
    now += 1;
  }
  connect('new', '10.0.0.9');
  expect(closed).toEqual(['a']);
});

const MIB = 2 ** 20;
let budget: BodyBudget;
let gone: string[];

beforeEach(() => {
  gone = [];
  budget = new BodyBudget(() => now);
});

/** A body that requests these bytes: whether it gets them, and its end. */
function arrive(name: string, bytes: number) {
  const body = budget.arrive(() => gone.push(name));
  const grow = (total: number) => budget.hold(body, total);
  return { has: grow(bytes), grow, end: () => budget.release(body) };
}

test('the budget of bodies has room for 16 MiB of large bodies, and again after they have ended', () => {
  const first = arrive('first', 7 * MIB);
  expect([first.has, arrive('second', 7 * MIB).has, arrive('third', 3 * MIB).has]).toEqual([
    true,
    true,
    false,
  ]);
  first.end();
  first.end();
  expect([arrive('fourth', 7 * MIB).has, arrive('fifth', 3 * MIB).has]).toEqual([true, false]);
  expect(gone).toEqual([]);
});

test('the budget of bodies has room for small bodies, whatever the large ones hold', () => {
  while (arrive('large', 7 * MIB).has);
  const small = Array.from({ length: 33 }, () => arrive('small', MIB / 4).has);
  expect(small.filter(Boolean)).toHaveLength(32);
  expect(gone).toEqual([]);
});

test('the budget of bodies takes the room of bodies slower than a second, the oldest first', () => {
  const slow = arrive('slow', 7 * MIB);
  now = 1;
  arrive('next', 7 * MIB);
  now = 1000;
  expect(arrive('honest', 7 * MIB).has).toBe(true);
  expect(gone).toEqual(['slow']);
  slow.end();
  expect(arrive('another', 7 * MIB).has).toBe(false);
  now = 1001;
  expect(arrive('another', 7 * MIB).has).toBe(true);
  expect(gone).toEqual(['slow', 'next']);
});

test('the budget of bodies counts a growing body once, and does not take its room from it', () => {
  const growing = arrive('growing', MIB / 8);
  now = 2000;
  for (const mebibytes of [0.25, 0.5, 1, 2, 4, 7]) expect(growing.grow(mebibytes * MIB)).toBe(true);
  expect(arrive('second', 9 * MIB).has).toBe(true);
  expect(gone).toEqual([]);
  expect(Array.from({ length: 33 }, () => arrive('small', MIB / 4).has).indexOf(false)).toBe(32);
});

test('the budget of bodies allows work on 8 MiB of bodies at once, and again when they are done', async () => {
  let done = () => {};
  const first = budget.work(7 * MIB, () => new Promise<void>((resolve) => (done = resolve)));
  const other = () => budget.work(MIB + 1, async () => 'done');
  await expect(other()).rejects.toMatchObject({ status: 503, refusal: 'no_room' });
  done();
  await first;
  expect(await other()).toBe('done');
});
