import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TransportError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { decodeObject } from '../../../../src/kube/api/resource.ts';
import { KubeClient } from '../../../../src/kube/client/client.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { configMap, configMaps, listOf } from '../../../support/kube/scripted-objects.ts';
import { until } from '../../../support/time/until.ts';

let metrics: string[];
let api: Awaited<ReturnType<typeof startScripted>>;
const cart = { namespace: 'shop', name: 'cart' };

beforeEach(async () => {
  metrics = [];
  api = await startScripted({
    metrics: {
      requestFinished: (method, code) => metrics.push(`${method} ${code}`),
      writeRefused: (resource, code) => metrics.push(`refused ${resource} ${code}`),
    },
  });
});
afterEach(() => api.close());

test('the client sends no request for an invalid name', async () => {
  await expect(api.client.mergePatch(configMaps, { namespace: 'shop', name: '../x' }, {})).rejects.toThrow(
    TypeError,
  );
  await expect(api.client.get(configMaps, { name: '..' })).rejects.toThrow(TypeError);
  expect(api.server.requests).toBe(0);
});

const TOO_LONG = 'x'.repeat(16 * 1024 * 1024 + 1);

test('the answer to a client is a decoded object', async () => {
  const picky = { ...configMaps, decode: (): KubeObject => decodeObject({}) };
  const got = api.client.get(picky, cart).catch((error: unknown) => error);
  (await api.server.next()).answer(configMap('cart', 1));
  expect(await got).toBeInstanceOf(TypeError);
});

test('the answer to a client is a whole list, in pages', async () => {
  const listed = api.client.list(configMaps, { resourceVersion: '0' }, (item) => `read ${item}`);
  const first = await api.server.next();
  expect(`${first.query}`).toBe('resourceVersion=0&limit=500');
  first.answer(listOf(5, [1, 2], 'more'));
  const last = await api.server.next();
  expect(`${last.query}`).toBe('continue=more&limit=500');
  last.answer({ metadata: { resourceVersion: '5', continue: '' }, items: null });
  expect(await listed).toEqual({ items: ['read 1', 'read 2'], resourceVersion: '5' });
});

test('the answer to a client is a list of smaller pages when one is too long', async () => {
  const listed = api.client.list(configMaps, { pageSize: 15 }).catch((error: unknown) => error);
  const limits: (string | null)[] = [];
  for (const body of [TOO_LONG, TOO_LONG, listOf(5, [1], 'more'), TOO_LONG]) {
    const request = await api.server.next();
    limits.push(request.query.get('limit'));
    request.answer(body);
  }
  expect(await listed).toMatchObject({ code: 'ETOOLARGE' });
  expect(limits).toEqual(['15', '2', '1', '1']);
});

test.each([200, 500])('the answer to a client times out when the body of a %d never ends', async (status) => {
  const got = api.client.get(configMaps, cart).catch((error: unknown) => error);
  (await api.server.next()).answer(TOO_LONG, { status });
  expect(await got).toMatchObject({ name: 'TransportError', code: 'ETOOLARGE' });
});

test('a write has the field manager of its client, unless it names another', async () => {
  const { transport, clock, server } = api;
  const client = new KubeClient({ transport, clock, fieldManager: 'ours' });
  for (const [options, manager] of [[{}, 'ours'] as const, [{ fieldManager: 'other' }, 'other'] as const]) {
    for (const write of [
      () => client.create(configMaps, configMap('cart', 1), options),
      () => client.mergePatch(configMaps, cart, {}, options),
      () => client.jsonPatch(configMaps, cart, [], options),
    ]) {
      const written = write();
      const request = await server.next();
      expect(request.query.get('fieldManager')).toBe(manager);
      request.answer(configMap('cart', 1));
      await written;
    }
  }
});

test('the answer to a client counts as refused if it is one to a write', async () => {
  const denied = { reason: 'Forbidden', message: 'no' };
  for (const dryRun of [true, false]) {
    const got = api.client.create(configMaps, configMap('cart', 1), { dryRun }).catch(() => undefined);
    (await api.server.next()).fail(403, denied);
    await got;
  }
  const status = api.client
    .mergePatch(configMaps, cart, {}, { subresource: 'status' })
    .catch(() => undefined);
  (await api.server.next()).fail(403, denied);
  await status;
  const overtaken = api.client.mergePatch(configMaps, cart, {}).catch(() => undefined);
  (await api.server.next()).fail(409, { reason: 'Conflict' });
  await overtaken;
  const refused = metrics.filter((each) => each.startsWith('refused'));
  expect(refused).toEqual(['refused configmaps 403', 'refused configmaps/status 403']);
});

test.each([
  ['not JSON', (r: Answering) => r.answer('<html>'), 'EBADBODY'],
  ['shorter than its content-length', (r: Answering) => cutShort(r), 'ECONNRESET'],
])('the answer to a client is a TransportError when its body is %s', async (_, answer, code) => {
  const posted = api.client.create(configMaps, configMap('cart', 1)).catch((error: unknown) => error);
  answer(await api.server.next());
  expect(await posted).toBeInstanceOf(TransportError);
  expect(await posted).toMatchObject({ code });
});

type Answering = Awaited<ReturnType<typeof api.server.next>>;

function cutShort(request: Answering): void {
  request.stream().write('{"metadata":');
  setImmediate(() => request.cut());
}

test('the client retries a request of any verb that the server put off, after Retry-After', async () => {
  const created = api.client.create(configMaps, configMap('cart', 1));
  (await api.server.next()).fail(429, {}, { 'retry-after': '2' });
  await until(() => api.clock.waits.includes(2000));
  expect(api.clock.pendingTimers).toBe(1);
  await api.clock.pass(2000);
  const again = await api.server.next();
  expect(JSON.parse(again.body)).toEqual(configMap('cart', 1));
  again.answer(configMap('cart', 1));
  await created;
  expect(metrics).toEqual(['POST 429', 'POST 200']);
  expect(api.clock.pendingTimers).toBe(0);
});

test('the client retries a read that was cut, but no write, which may have had an effect', async () => {
  const written = api.client.mergePatch(configMaps, cart, {}).catch((error: unknown) => error);
  (await api.server.next()).cut();
  expect(await written).toMatchObject({ name: 'TransportError' });
  const got = api.client.get(configMaps, cart);
  (await api.server.next()).cut();
  await api.clock.pass(100);
  (await api.server.next()).answer(configMap('cart', 1));
  await got;
  expect(metrics).toEqual(['PATCH <error>', 'GET <error>', 'GET 200']);
});

test('the client retries nothing after the caller stops', async () => {
  const stop = new AbortController();
  const got = api.client.get(configMaps, cart, { signal: stop.signal }).catch((error: unknown) => error);
  (await api.server.next()).fail(429);
  await until(() => api.clock.waits.includes(100));
  stop.abort(new Error('stop'));
  expect(await got).toEqual(new Error('stop'));
  expect([api.clock.pendingTimers, api.server.requests]).toEqual([0, 1]);
});

test('requests leave no listener on the signal of their caller, however they end', async () => {
  const { signal } = new AbortController();
  const listed = api.client.list(configMaps, { signal });
  (await api.server.next()).answer(listOf(5, []));
  await listed;
  const got = api.client.get(configMaps, cart, { signal }).catch(() => 'failed');
  (await api.server.next()).fail(404);
  await got;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test.each([undefined, 5000])(
  'a request without an answer ends after its time (%p: 30 s unless given)',
  async (timeoutMs) => {
    const got = api.client.get(configMaps, cart, { timeoutMs }).catch((error: unknown) => error);
    const request = await api.server.next();
    await api.clock.advanceAsync((timeoutMs ?? 30_000) - 1);
    expect(api.clock.pendingTimers).toBe(1);
    await api.clock.advanceAsync(1);
    expect(await got).toMatchObject({ code: 'ETIMEDOUT' });
    await request.closed;
  },
);

test('a request without an answer times out even when its body stalls', async () => {
  const got = api.client.get(configMaps, cart).catch((error: unknown) => error);
  const request = await api.server.next();
  request.stream().write('{"metadata":');
  await until(() => metrics.length === 1);
  await api.clock.advanceAsync(30_000);
  expect(await got).toMatchObject({ code: 'ETIMEDOUT' });
  await request.closed;
});

// Without a reason, the reason of an abort is a DOMException, which has a code like system errors.
test.each([
  ['with an error', new Error('stop')],
  ['without an error', undefined],
])(
  'a request without an answer ends at once with the reason of the signal when the caller aborts %s',
  async (_, reason) => {
    const stop = new AbortController();
    const got = api.client.get(configMaps, cart, { signal: stop.signal }).catch((error: unknown) => error);
    const request = await api.server.next();
    stop.abort(reason);
    expect(await got).toBe(stop.signal.reason);
    await request.closed;
    expect(api.clock.pendingTimers).toBe(0);
  },
);
