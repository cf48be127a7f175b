import { once } from 'node:events';
import { connect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { MAX_BODY_BYTES } from '../../../../src/kube/admission/read-body.ts';
import type { AdmissionAnswer, ReviewHandler } from '../../../../src/kube/admission/review.ts';
import { type KeyPair, WebhookServer } from '../../../../src/kube/admission/server.ts';
import { type WebhookMetrics, webhookMetrics } from '../../../../src/kube/prometheus/index.ts';
import { podReview } from '../../../support/injection/admission-review.ts';
import { capturedLog } from '../../../support/kube/captured-log.ts';
import { HttpsClient } from '../../../support/kube/https-client.ts';
import { testAuthority } from '../../../support/kube/test-authority.ts';
import { until } from '../../../support/time/until.ts';

let ca: string;
let keyPair: KeyPair;
let otherKeyPair: KeyPair;
let logged: ReturnType<typeof capturedLog>;
let answers: [string, number][];
/** Calls in flight, by path. */
let underWay: Record<string, number>;
/** Why calls and connections were refused. */
let refusals: string[];
let handler: ReviewHandler;
let server: WebhookServer;
let client: HttpsClient;
let port: number;

beforeAll(async () => {
  const { caPem, server } = await testAuthority();
  const made = async () => {
    const { certPem: cert, keyPem: key } = await server();
    return { cert, key };
  };
  [ca, keyPair, otherKeyPair] = [caPem, await made(), await made()];
});

beforeEach(async () => {
  logged = capturedLog();
  answers = [];
  underWay = {};
  refusals = [];
  handler = async () => ({ allowed: true });
  const metrics: WebhookMetrics = {
    ...webhookMetrics(new Registry()),
    inFlight(path, change) {
      underWay[path] = (underWay[path] ?? 0) + change;
    },
    answered: (path, status) => void answers.push([path, status]),
    refused: (reason) => void refusals.push(reason),
  };
  server = new WebhookServer({ log: logged.log, metrics });
  server.add('/inject', (request, signal) => handler(request, signal));
  server.setKeyPair(keyPair);
  port = await server.listen(0, 'localhost');
  client = new HttpsClient(port, ca);
});

afterEach(async () => {
  client.disconnect();
  await server.close(0);
});

const review = JSON.stringify(podReview());

test('a call of a webhook is answered with a review of the same uid', async () => {
  handler = async () => ({ allowed: true, operations: [{ op: 'add', path: '/a', value: 1 }] });
  const { status, headers, body } = await client.call('/inject?timeout=5s', review);
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'content-type': 'application/json' });
  expect(Object.keys(headers)).not.toContain('x-powered-by');
  expect(Object.keys(headers)).not.toContain('etag');
  expect(JSON.parse(body)).toMatchObject({ response: { uid: '0a1b', patchType: 'JSONPatch' } });
  expect(answers).toEqual([['/inject', 200]]);
});

test.each(['GET', 'OPTIONS'])('a call of a webhook by %s is refused with 405', async (method) => {
  const { status, headers, body } = await client.call('/inject', '', { method });
  expect([status, headers.allow, body]).toEqual([405, 'POST', 'expected POST\n']);
  // Nothing of the call is left that the server could read as the next one.
  expect(headers.connection).toBe('keep-alive');
});

test.each(['/', '/Inject', '/inject/', '/%', '/__proto__'])(
  'a call of a webhook at %s is refused with 404',
  async (path) => {
    expect(await client.call(path, review)).toMatchObject({ status: 404, body: 'unknown path\n' });
    expect(answers).toEqual([['', 404]]);
  },
);

test.each([
  ['application/jsonp', {}],
  ['application/json', { 'content-encoding': 'gzip' }],
])('a call of a webhook with the content type %j %j is refused with 415', async (type, more) => {
  const headers = { 'content-type': type, ...more };
  expect(await client.call('/inject', review, { headers })).toMatchObject({ status: 415 });
});

test.each<[string, string | Buffer, string]>([
  ['empty', '', 'the body is empty\n'],
  ['cut off', review.slice(0, -9), 'the body is not JSON\n'],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'the body is not UTF-8\n'],
  [
    'not a review',
    '{}',
    'not an AdmissionReview: apiVersion: expected "admission.k8s.io/v1", got undefined\n',
  ],
])('a call of a webhook whose body is %s is refused with 400', async (_, body, message) => {
  const answer = await client.call('/inject', body);
  expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
    400,
    message,
    'text/plain; charset=utf-8',
  ]);
  expect(logged.lines).toMatchObject([{ level: 40, status: 400, msg: 'call refused' }]);
  // It may hold secrets.
  expect(JSON.stringify(logged.lines)).not.toContain('containers');
});

test.each([
  ['by its declared length', { 'content-length': String(MAX_BODY_BYTES + 1) }],
  ['without a declared length', { 'transfer-encoding': 'chunked' }],
])(
  'a call of a webhook that is too large (%s) is refused with 413, and the answer arrives',
  async (_, headers) => {
    const body = Buffer.alloc(MAX_BODY_BYTES + 1, 0x20);
    const answer = await client.call('/inject', body, { headers });
    expect(answer).toMatchObject({ status: 413, body: `the body is larger than ${MAX_BODY_BYTES} bytes\n` });
  },
);

test('a call of a webhook that fails is answered with 500, and the error is logged once', async () => {
  handler = async () => {
    throw new Error('broken inside');
  };
  expect(await client.call('/inject', review)).toMatchObject({ status: 500, body: 'internal error\n' });
  expect(logged.lines).toMatchObject([
    { level: 50, status: 500, err: { message: 'broken inside' }, msg: 'review failed' },
  ]);
});

test('a call of a webhook that takes too long is answered with 504, and its signal aborts', async () => {
  let reason: unknown;
  handler = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason;
        reject(new Error('gave up'));
      });
    });
  expect(await client.call('/inject?timeout=20ms', review)).toMatchObject({
    status: 504,
    body: 'no answer within 18 ms\n',
  });
  expect(reason).toMatchObject({ status: 504 });
});

test('a call of a webhook whose caller has hung up is aborted', async () => {
  const given = new Promise((resolve) => {
    handler = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          resolve(signal.reason);
          reject(signal.reason);
        });
        call.destroy();
      });
  });
  const call = client.start('/inject');
  call.on('error', () => {});
  call.end(review);
  expect(await given).toMatchObject({ message: 'the client closed the connection' });
  await until(() => answers.length === 1);
  expect(answers).toEqual([['/inject', 499]]);
});

/** Makes a handshake like a client that accepts any version of TLS. */
async function handshake(options: { maxVersion?: 'TLSv1.1' | 'TLSv1.2'; minVersion?: 'TLSv1' } = {}) {
  const socket = connect({
    port,
    host: 'localhost',
    servername: 'localhost',
    ca,
    ciphers: 'DEFAULT@SECLEVEL=0',
    ...options,
  });
  try {
    await once(socket, 'secureConnect');
    return { cert: socket.getPeerX509Certificate()?.toString(), protocol: socket.getProtocol() };
  } finally {
    socket.destroy();
  }
}

test('the server of webhooks presents a new certificate to new connections, and keeps the old connections', async () => {
  await client.call('/inject', review);
  server.setKeyPair(otherKeyPair);
  expect((await handshake()).cert).toBe(otherKeyPair.cert);
  expect((await handshake({ maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2');
  await expect(handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow(
    /protocol|version/i,
  );
  expect(await client.call('/inject', review)).toMatchObject({ status: 200 });
});

test('the server of webhooks keeps its certificate when key and certificate do not match', async () => {
  expect(() => server.setKeyPair({ cert: otherKeyPair.cert, key: keyPair.key })).toThrow();
  expect((await handshake()).cert).toBe(keyPair.cert);
});

test('closing the server of webhooks waits for the answers in flight, and they arrive', async () => {
  let finish: (verdict: AdmissionAnswer) => void = () => {};
  const entered = new Promise<void>((resolve) => {
    handler = () => {
      resolve();
      return new Promise((done) => {
        finish = done;
      });
    };
  });
  const answer = client.call('/inject', review);
  await entered;
  const closed = server.close(60_000);
  finish({ allowed: true });
  expect(await answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
  await closed;
  await expect(handshake()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('closing the server of webhooks closes by force the connections that do not end in time', async () => {
  handler = () => new Promise(() => {});
  const call = client.start('/inject');
  call.end(review);
  const broken = once(call, 'error');
  await waitForConnection();
  await server.close(1);
  expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
  expect(logged.lines[0]).toMatchObject({ msg: 'closed connections by force' });
});

test('closing the server of webhooks after a drain closes the connection with each answer', async () => {
  await client.call('/inject', review);
  server.drain();
  expect((await client.call('/inject', review)).headers.connection).toBe('close');
});

/** Resolves once the server has a call in flight. */
function waitForConnection(): Promise<void> {
  return new Promise((resolve) => {
    handler = () => {
      resolve();
      return new Promise(() => {});
    };
  });
}
