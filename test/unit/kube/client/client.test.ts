import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TransportError } from '../../../../src/kube/api/api-error.ts';
import type { KubeObject } from '../../../../src/kube/api/object.ts';
import { decodeObject } from '../../../../src/kube/api/resource.ts';
import type { KubeClient } from '../../../../src/kube/client/client.ts';
import { startScripted } from '../../../support/kube/scripted-client.ts';
import { configMap, configMaps, listOf } from '../../../support/kube/scripted-objects.ts';
import { until } from '../../../support/time/until.ts';

let metrics: string[];
let api: Awaited<ReturnType<typeof startScripted>>;
const cart = { namespace: 'shop', name: 'cart' };
const cartPath = '/api/v1/namespaces/shop/configmaps/cart';

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

describe('what the client sends', () => {
  const status = { subresource: 'status' };
  const json = 'application/json';
  test.each<[string, (client: KubeClient) => Promise<unknown>, string, string, object | null, string]>([
    ['get', (c) => c.get(configMaps, cart), 'GET', cartPath, null, ''],
    [
      'create, in the namespace of the object',
      (c) => c.create(configMaps, configMap('cart', 1), { dryRun: true }),
      'POST',
      '/api/v1/namespaces/shop/configmaps?dryRun=All',
      configMap('cart', 1),
      json,
    ],
    [
      'JSON patch',
      (c) => c.jsonPatch(configMaps, cart, [{ op: 'remove', path: '/data' }], status),
      'PATCH',
      `${cartPath}/status`,
      [{ op: 'remove', path: '/data' }],
      'application/json-patch+json',
    ],
    [
      'merge patch',
      (c) => c.mergePatch(configMaps, cart, { data: null }),
      'PATCH',
      cartPath,
      { data: null },
      'application/merge-patch+json',
    ],
    [
      'server-side apply',
      (c) => c.apply(configMaps, cart, { data: {} }, { fieldManager: 'me', force: true, ...status }),
      'PATCH',
      `${cartPath}/status?fieldManager=me&force=true`,
      { data: {} },
      'application/apply-patch+yaml',
    ],
    [
      'delete',
      (c) => c.delete(configMaps, cart, { preconditions: { uid: 'u' }, propagationPolicy: 'Foreground' }),
      'DELETE',
      cartPath,
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: 'u' },
        propagationPolicy: 'Foreground',
      },
      json,
    ],
    [
      'a page of a list',
      (c) =>
        c.list(configMaps, {
          namespace: 'shop',
          labelSelector: 'a in (b,c)',
          limit: 2,
          resourceVersion: '0',
        }),
      'GET',
      '/api/v1/namespaces/shop/configmaps?labelSelector=a+in+%28b%2Cc%29&resourceVersion=0&limit=2',
      null,
      '',
    ],
    ['any other call', (c) => c.request('GET', '/version'), 'GET', '/version', null, ''],
  ])('%s', async (_, call, method, path, body, contentType) => {
    const called = call(api.client);
    const request = await api.server.next();
    const query = request.query.size > 0 ? `?${request.query}` : '';
    expect([request.method, `${request.path}${query}`]).toEqual([method, path]);
    expect(request.body === '' ? null : JSON.parse(request.body)).toEqual(body);
    expect(request.headers['content-type'] ?? '').toBe(contentType);
    expect(request.headers.accept).toBe(json);
    // This body is valid for any request.
    request.answer({ ...configMap('cart', 2), items: [] });
    await called;
    expect(metrics).toEqual([`${method} 200`]);
  });

  test('no request for an invalid name', async () => {
    await expect(api.client.mergePatch(configMaps, { namespace: 'shop', name: '../x' }, {})).rejects.toThrow(
      TypeError,
    );
    await expect(api.client.get(configMaps, { name: '..' })).rejects.toThrow(TypeError);
    expect(api.server.requests).toBe(0);
  });
});

const TOO_LONG = 'x'.repeat(16 * 1024 * 1024 + 1);

describe('the answer', () => {
  test('is a decoded object', async () => {
    const picky = { ...configMaps, decode: (): KubeObject => decodeObject({}) };
    const got = api.client.get(picky, cart).catch((error: unknown) => error);
    (await api.server.next()).answer(configMap('cart', 1));
    expect(await got).toBeInstanceOf(TypeError);
  });

  test('is one page of a list with a limit, and the token of the next one', async () => {
    const page = api.client.list(configMaps, { limit: 2 });
    (await api.server.next()).answer(listOf(5, [1, 2], 'more'));
    expect(await page).toEqual({ items: [1, 2], resourceVersion: '5', continue: 'more' });
  });

  test('is a whole list without a limit, in pages', async () => {
    const listed = api.client.list(configMaps, { resourceVersion: '0' }, (item) => `read ${item}`);
    const first = await api.server.next();
    expect(`${first.query}`).toBe('resourceVersion=0&limit=500');
    first.answer(listOf(5, [1, 2], 'more'));
    const last = await api.server.next();
    expect(`${last.query}`).toBe('continue=more&limit=500');
    last.answer({ metadata: { resourceVersion: '5', continue: '' }, items: null });
    expect(await listed).toEqual({ items: ['read 1', 'read 2'], resourceVersion: '5', continue: undefined });
  });

  test('is a list of smaller pages when one is too long', async () => {
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

  test('is requested again when a list is cut, and then holds no item twice', async () => {
    const listed = api.client.list(configMaps, {});
    const first = await api.server.next();
    first.stream().write('{"metadata":{"resourceVersion":"5"},"items":[1,2,');
    setImmediate(() => first.cut());
    await api.clock.pass(100);
    (await api.server.next()).answer(listOf(6, [1]));
    expect(await listed).toMatchObject({ items: [1], resourceVersion: '6' });
  });

  test.each([200, 500])('times out when the body of a %d never ends', async (status) => {
    const got = api.client.get(configMaps, cart).catch((error: unknown) => error);
    (await api.server.next()).answer(TOO_LONG, { status });
    expect(await got).toMatchObject({ name: 'TransportError', code: 'ETOOLARGE' });
  });

  test('counts as refused if it is one to a write', async () => {
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
  ])('is a TransportError when its body is %s', async (_, answer, code) => {
    const posted = api.client.create(configMaps, configMap('cart', 1)).catch((error: unknown) => error);
    answer(await api.server.next());
    expect(await posted).toBeInstanceOf(TransportError);
    expect(await posted).toMatchObject({ code });
  });
});

type Answering = Awaited<ReturnType<typeof api.server.next>>;

function cutShort(request: Answering): void {
  request.stream().write('{"metadata":');
  setImmediate(() => request.cut());
}

describe('the client retries', () => {
  test('a request of any verb that the server put off, after Retry-After', async () => {
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

  test('a read that was cut, but no write, which may have had an effect', async () => {
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

  test('nothing after the caller stops', async () => {
    const stop = new AbortController();
    const got = api.client.get(configMaps, cart, { signal: stop.signal }).catch((error: unknown) => error);
    (await api.server.next()).fail(429);
    await until(() => api.clock.waits.includes(100));
    stop.abort(new Error('stop'));
    expect(await got).toEqual(new Error('stop'));
    expect([api.clock.pendingTimers, api.server.requests]).toEqual([0, 1]);
  });
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

describe('a watch', () => {
  const options = { namespace: 'shop', resourceVersion: '5', timeoutSeconds: 300 };

  test('requests bookmarks, and yields events in order until the server ends it', async () => {
    const events: unknown[] = [];
    const watched = (async () => {
      for await (const event of api.client.watch(configMaps, options)) events.push(event);
    })();
    const request = await api.server.next();
    expect(Object.fromEntries(request.query)).toEqual({
      resourceVersion: '5',
      timeoutSeconds: '300',
      watch: 'true',
      allowWatchBookmarks: 'true',
    });
    request.stream({ n: 1 }, { n: 2 });
    await until(() => events.length === 2);
    request.stream({ n: 3 }).end();
    await watched;
    expect(events).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test.each<[string, (request: Answering) => void, object]>([
    ['is refused', (r) => r.fail(410, { reason: 'Expired' }), { name: 'ApiError', status: 410 }],
    ['is cut before its answer', (r) => r.cut(), { name: 'TransportError', code: 'ECONNRESET' }],
    ['is cut within its answer', cutShort, { name: 'TransportError', code: 'ECONNRESET' }],
    ['sends a line that is not JSON', (r) => r.stream().write('no JSON\n'), { name: 'MalformedLineError' }],
  ])('that %s throws the error, and hangs up', async (_, answer, error) => {
    const next = api.client
      .watch(configMaps, options)
      .next()
      .catch((thrown: unknown) => thrown);
    const request = await api.server.next();
    answer(request);
    expect(await next).toMatchObject(error);
    await request.closed;
  });

  test.each([false, true])('ends at once when its reader stops (answered: %p)', async (answered) => {
    const stop = new AbortController();
    const next = api.client
      .watch(configMaps, { ...options, signal: stop.signal })
      .next()
      .catch((e: unknown) => e);
    const request = await api.server.next();
    if (answered) {
      request.stream();
      await until(() => metrics.length === 1);
    }
    stop.abort(new Error('stop'));
    expect(await next).toEqual(new Error('stop'));
    await request.closed;
  });
});

describe('a request without an answer', () => {
  test.each([undefined, 5000])('ends after its time (%p: 30 s unless given)', async (timeoutMs) => {
    const got = api.client.get(configMaps, cart, { timeoutMs }).catch((error: unknown) => error);
    const request = await api.server.next();
    await api.clock.advanceAsync((timeoutMs ?? 30_000) - 1);
    expect(api.clock.pendingTimers).toBe(1);
    await api.clock.advanceAsync(1);
    expect(await got).toMatchObject({ code: 'ETIMEDOUT' });
    await request.closed;
  });

  test('times out even when its body stalls', async () => {
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
  ])('ends at once with the reason of the signal when the caller aborts %s', async (_, reason) => {
    const stop = new AbortController();
    const got = api.client.get(configMaps, cart, { signal: stop.signal }).catch((error: unknown) => error);
    const request = await api.server.next();
    stop.abort(reason);
    expect(await got).toBe(stop.signal.reason);
    await request.closed;
    expect(api.clock.pendingTimers).toBe(0);
  });
});
