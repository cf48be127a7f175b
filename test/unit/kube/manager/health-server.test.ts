import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Counter, Gauge, Registry } from 'prom-client';
import { createProbesServer, type ReadinessCheck } from '../../../../src/kube/manager/health-server.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

let clock: FakeClock;
let sockets: Socket[];
let server: Server | undefined;

beforeEach(() => {
  clock = new FakeClock();
  sockets = [];
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serving(
  checks: readonly ReadinessCheck[],
  registry = new Registry(),
  host = '127.0.0.1',
  stuck?: () => string | undefined,
): Promise<string> {
  server = createProbesServer({
    clock,
    registry,
    checks,
    ...(stuck && { stuck }),
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  return `http://${host}:${typeof address === 'object' ? address?.port : ''}`;
}

/** Advances time by 0 ms until there is an answer, so that timers of 0 ms fire. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let isHere = false;
  const here = answer.finally(() => (isHere = true));
  while (!isHere) await clock.advanceAsync(0);
  return here;
}

test('the probes server is not alive while a controller is stuck, and names it', async () => {
  let problem: string | undefined = 'controller network is stuck';
  const url = await serving([], new Registry(), '127.0.0.1', () => problem);
  const response = await fetch(`${url}/healthz`);
  expect([response.status, await response.text()]).toEqual([503, `${problem}\n`]);
  // The webhook continues until the restart.
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  problem = undefined;
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('the probes server shows which check fails, and why', async () => {
  const url = await serving([
    { name: 'webhook', failure: () => undefined },
    { name: 'cache', failure: () => 'the template is not read yet' },
  ]);
  const response = await fetch(`${url}/readyz`);
  expect([response.status, await response.text()]).toEqual([
    503,
    '[+]webhook ok\n[-]cache failed: the template is not read yet\nreadyz check failed\n',
  ]);
});

test('the probes server is ready despite a warning, and shows it', async () => {
  const url = await serving([
    { name: 'cache', failure: () => undefined },
    { name: 'objects', failure: () => 'one is missing', isWarning: true },
  ]);
  const response = await fetch(`${url}/readyz`);
  expect([response.status, await response.text()]).toEqual([
    200,
    '[+]cache ok\n[!]objects warns: one is missing\nreadyz check passed\n',
  ]);
});

test('the probes server shows metrics, and no other page', async () => {
  const registry = new Registry();
  new Counter({ name: 'things_total', help: 'Things', registers: [registry] }).inc(3);
  const url = await serving([], registry);
  const metrics = fetch(`${url}/metrics`).then((answer) => answer.text());
  expect(await inTime(metrics)).toContain('things_total 3');
  expect((await fetch(`${url}/debug/controllers`)).status).toBe(404);
});

test('the probes server answers what is wrong with a page', async () => {
  const registry = new Registry();
  const collect = () => {
    throw new Error('no such cache');
  };
  new Gauge({ name: 'things', help: 'Things', registers: [registry], collect });
  const answer = await inTime(fetch(`${await serving([], registry)}/metrics`));
  expect([answer.status, await answer.text()]).toEqual([500, 'no such cache\n']);
});

/** Metrics that count how often they were rendered. */
function counted(render: () => void): { registry: Registry; renderings: () => number } {
  const registry = new Registry();
  let renderings = 0;
  const collect = () => {
    renderings++;
    render();
  };
  new Gauge({ name: 'things', help: 'Things', registers: [registry], collect });
  return { registry, renderings: () => renderings };
}

async function statusOf(url: string): Promise<number> {
  const answer = await fetch(url);
  await answer.text();
  return answer.status;
}

/** Opens connections, sends this text on each, and waits until the server has accepted all. */
async function flood(url: string, count: number, text: string): Promise<void> {
  let accepted = 0;
  server?.on('connection', () => accepted++);
  const port = Number(new URL(url).port);
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(text);
  }
  while (accepted < count) await eventLoopTurn();
}

const open = () => new Promise<number>((resolve) => server?.getConnections((_, count) => resolve(count)));

test('a hostile client of the metrics port takes a twentieth of the time, however often it calls', async () => {
  const { registry, renderings } = counted(() => clock.advance(50));
  const url = await serving([], registry);
  let calls = 0;
  server?.on('request', () => calls++);
  expect(await inTime(statusOf(`${url}/metrics`))).toBe(200);
  const answers = Array.from({ length: 10 }, () => statusOf(`${url}/metrics`));
  while (calls < 11) await eventLoopTurn();
  await clock.advanceAsync(949);
  expect([await statusOf(`${url}/healthz`), renderings()]).toEqual([200, 1]);
  clock.advance(1);
  expect(await Promise.all(answers)).toEqual(Array(10).fill(200));
  expect(renderings()).toBe(2);
});

test.each(['/metrics', '/METRICS/', '/nothing'])(
  'a hostile client of the metrics port gets 429 for too many calls of %s, and the probes continue',
  async (path) => {
    const url = await serving([]);
    for (let i = 0; i < 20; i++) await statusOf(`${url}/nothing`);
    const answer = await fetch(`${url}${path}`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1']);
    for (let i = 0; i < 100; i++) expect(await statusOf(`${url}/healthz`)).toBe(200);
    expect(await statusOf(`${url}/readyz`)).toBe(200);
    clock.advance(50);
    expect(await statusOf(`${url}/nothing`)).toBe(404);
  },
);

test.each([
  ['silent', ''],
  ['half-written', 'GET /metrics HTTP/1.1\r\n'],
  ['idle', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
])('a hostile client of the metrics port keeps no probe out by %s connections', async (_, text) => {
  const url = await serving([]);
  await flood(url, 150, text);
  expect(await statusOf(`${url}/healthz`)).toBe(200);
  expect(await open()).toBeLessThanOrEqual(100);
});

test('a hostile client of the metrics port is refused with a large head', async () => {
  const url = await serving([]);
  const answer = await fetch(`${url}/healthz`, { headers: { large: 'x'.repeat(5_000) } });
  expect(answer.status).toBe(431);
});
