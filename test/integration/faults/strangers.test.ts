import { once } from 'node:events';
import { connect as connectPlainly } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type StrangerKind, Strangers } from '../../support/faults/strangers.ts';
import { podReview } from '../../support/injection/admission-review.ts';
import { answerTo, HttpsClient } from '../../support/kube/https-client.ts';
import { type OperatorFixture, startOperatorFixture } from '../../support/operator/operator-fixture.ts';
import { memoryOf } from '../../support/operator/process-memory.ts';

/** What Node gives itself in a container with the memory limit of deploy/base/deployment.yaml. */
const HEAP_MIB = 256;
const LIMIT_MIB = 512;
/** Far more than the server allows, for a crowded machine. Without bounds of its own it is a minute, five or for ever. */
const PATIENCE_MS = 55_000;
let fixture: OperatorFixture;
let port: number;
let pid: number;
let strangers: readonly Strangers[] = [];

beforeAll(async () => {
  fixture = await startOperatorFixture({ nodeFlags: [`--max-old-space-size=${HEAP_MIB}`] });
  port = Number(new URL(fixture.operator.webhookUrl).port);
  ({ pid } = fixture.operator.process);
});

afterEach(async () => {
  await Promise.all(strangers.map((each) => each.leave()));
  strangers = [];
});

afterAll(() => fixture?.stop());

const HEAD = 'POST /inject HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
const review = JSON.stringify(podReview());

/** So many of each kind come at once, and at least `arrived` of each are connected. */
async function come(counts: Partial<Record<StrangerKind, number>>, arrived = 10): Promise<void> {
  const orders = Object.entries(counts) as [StrangerKind, number][];
  strangers = orders.map(([kind, count]) => new Strangers({ kind, count, port }));
  await Promise.all(strangers.map((each) => each.arrived(arrived)));
}

/** How long each kind has stayed, in milliseconds. */
const stays = () => Promise.all(strangers.map(({ closed }) => closed));

/** Reviews one after the other while the strangers are there, by turns on a kept connection and on new ones. */
async function reviewsBeside(): Promise<{ answers: number; failures: string[] }> {
  const kept = new HttpsClient(port, fixture.operator.caPem);
  const result = { answers: 0, failures: [] as string[] };
  while (!strangers.every(({ isClosed }) => isClosed)) {
    const fresh = new HttpsClient(port, fixture.operator.caPem);
    for (const client of [kept, fresh]) {
      try {
        const { status, body } = await client.call('/inject?timeout=5s', review);
        if (status !== 200) result.failures.push(`${status} ${body}`);
      } catch (error) {
        result.failures.push(String(error));
      }
      result.answers += 1;
    }
    fresh.disconnect();
  }
  kept.disconnect();
  return result;
}

// Each stays for as long as it may, which is 10 s: those that are there at once do not add up.
test.each<Partial<Record<StrangerKind, number>>>([
  { 'slow body': 200, 'declared body': 200, 'chunked body': 200 },
  { 'body in tiny pieces': 100 },
  { 'dense review': 50 },
])('strangers send %j at once: pods are reviewed meanwhile, and memory stays', async (counts) => {
  const before = (await memoryOf(pid)).now;
  await come(counts);
  const { answers, failures } = await reviewsBeside();
  const after = await memoryOf(pid);
  expect(failures).toEqual([]);
  expect(answers).toBeGreaterThan(1);
  for (const longestMs of await stays()) expect(longestMs).toBeLessThan(PATIENCE_MS);
  expect(after.most - before).toBeLessThan(128);
  expect(after.most).toBeLessThan(LIMIT_MIB);
});

test('strangers that begin and do not go on, all at once, are closed, and pods are reviewed meanwhile', async () => {
  const slow = { 'slow head': 150, 'slow second head': 150, 'unread answers': 10 };
  await come({ ...slow, 'silent TLS': 150, 'silent TCP': 150, 'half handshake': 150 });
  const { failures } = await reviewsBeside();
  expect(failures).toEqual([]);
  for (const longestMs of await stays()) expect(longestMs).toBeLessThan(PATIENCE_MS);
});

test('strangers by the thousand are no more connections than may be, and an earlier idle one still serves', async () => {
  const kept = new HttpsClient(port, fixture.operator.caPem);
  const sockets = new Set<unknown>();
  const callKept = async () => {
    const call = kept.start('/inject');
    call.once('socket', (socket) => sockets.add(socket));
    call.end(review);
    return (await answerTo(call)).status;
  };
  expect(await callKept()).toBe(200);
  await come({ 'silent TLS': 1500 }, 1500);
  const { failures } = await reviewsBeside();
  expect(failures).toEqual([]);
  expect(
    await metric('envoy_initializer_webhook_refused_total{reason="too_many_connections"}'),
  ).toBeGreaterThan(0);
  expect(await callKept()).toBe(200);
  expect(sockets.size).toBe(1);
  kept.disconnect();
});

// biome-ignore format: a line for each case
test.each<[string, string, RegExp]>([
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^$/],
  ['no HTTP', '\0\xff'.repeat(5000), /^$/],
  ['a header of 64 KiB', `POST /inject HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(65_536)}\r\n\r\n`, /^$/],
  ['10,000 headers', `POST /inject HTTP/1.1\r\nHost: a\r\n${'X: x\r\n'.repeat(10_000)}\r\n`, /^$/],
  ['two lengths', `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, /^$/],
  ['a length and chunks', `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, /^$/],
  ['a negative length', `${HEAD}Content-Length: -1\r\n\r\n`, /^$/],
  ['a length beyond all numbers', `${HEAD}Content-Length: ${'9'.repeat(40)}\r\n\r\n`, /^$/],
  ['an extension of a chunk that never ends', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(65_536)}`, /^$/],
  ['more than the length says', `${HEAD}Content-Length: 2\r\n\r\n{}{}`, /^$/],
  ['a request to a proxy', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', /^$/],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n', /^HTTP\/1\.1 404 /],
  ['no host', 'POST /inject HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['an expectation', `${HEAD}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /],
  ['another expectation', `${HEAD}Connection: close\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}`, /^HTTP\/1\.1 417 /],
])('strangers with %s are refused and closed', async (_, sent, answer) => {
  expect(await answerToText(sent)).toMatch(answer);
  expect(await callOnce()).toBe(200);
});

test('strangers without TLS are closed', async () => {
  const refused = 'envoy_initializer_webhook_refused_total{reason="handshake_failed"}';
  const before = (await metric(refused)) ?? 0;
  const socket = connectPlainly({ host: '127.0.0.1', port }, () => socket.write(`${HEAD}\r\n`));
  socket.resume();
  await once(socket, 'close');
  expect(await metric(refused)).toBe(before + 1);
  expect(await callOnce()).toBe(200);
});

/** All that the server answers to a text until it closes the connection. */
async function answerToText(text: string): Promise<string> {
  const socket = connectSecurely({ host: '127.0.0.1', port, rejectUnauthorized: false }, () =>
    socket.write(text, 'latin1'),
  );
  let answer = '';
  socket.on('data', (data: Buffer) => (answer += data.toString()));
  // Also by a reset, where the server has not read all.
  await once(socket, 'close').catch(() => undefined);
  return answer;
}

async function callOnce(): Promise<number> {
  const client = new HttpsClient(port, fixture.operator.caPem);
  const { status } = await client.call('/inject', review);
  client.disconnect();
  return status;
}

/** What a sample of the metrics is; undefined where there is none. */
async function metric(sample: string): Promise<number | undefined> {
  const text = await fixture.metrics();
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length));
}
