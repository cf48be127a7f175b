import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Transport, type TransportResponse } from '../../../../src/kube/client/transport.ts';
import { kubeConfigOf, plainKubeConfig, startScripted } from '../../../support/kube/scripted-client.ts';
import { SilentServer } from '../../../support/kube/silent-server.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

let api: Awaited<ReturnType<typeof startScripted>>;
beforeEach(async () => {
  api = await startScripted();
});
afterEach(() => api.close());

const { signal } = new AbortController();
const get = { method: 'GET', path: '/version', signal } as const;

async function read(response: Promise<TransportResponse>): Promise<string> {
  return (await response).body.text();
}

test.each([true, false])('requests have the user agent of the client (watch: %s)', async (streaming) => {
  const transport = new Transport(plainKubeConfig(api.server.port), new FakeClock(), 'a-program/1.0');
  const response = transport.send({ ...get, streaming });
  const request = await api.server.next();
  request.answer({});
  await (await response).body.text();
  await transport.close();
  expect(request.headers['user-agent']).toBe('a-program/1.0');
});

test('the connections of a transport are at most 32 for concurrent requests, and one for each watch', async () => {
  const stop = new AbortController();
  const watches = Array.from({ length: 40 }, () =>
    api.transport.send({ ...get, signal: stop.signal, streaming: true }),
  );
  for (const _ of watches) (await api.server.next()).stream();
  const streams = await Promise.all(watches);
  expect(api.server.openConnections).toBe(40);

  const responses = Array.from({ length: 100 }, () => read(api.transport.send(get)));
  await until(() => api.server.requests === 72);
  expect(api.server.openConnections).toBe(72);
  for (const _ of responses) (await api.server.next()).answer({});
  await Promise.all(responses);
  expect(api.server.connections).toBe(72);
  for (const { body } of streams) body.on('error', () => undefined);
  stop.abort();
});

test('the connections of a transport are at most six minutes old when a request begins', async () => {
  const exchange = async () => {
    const response = read(api.transport.send(get));
    (await api.server.next()).answer({});
    await response;
  };
  const openedBy = Date.now();
  await exchange();
  const now = jest.spyOn(Date, 'now').mockReturnValue(openedBy + 299_999);
  await exchange();
  const before = api.server.connections;
  expect(before).toBeLessThanOrEqual(2);
  // Jitter adds at most a fifth.
  now.mockReturnValue(Date.now() + 61_000);
  await exchange();
  now.mockRestore();
  expect(api.server.connections).toBe(before + 1);
});

test('the connections of a transport end when it is closed, and none opens afterwards', async () => {
  const watch = await Promise.all([
    api.transport.send({ ...get, streaming: true }),
    api.server.next().then((request) => request.stream()),
  ]).then(([response]) => response);
  const ended = watch.body.text().catch((error: Error & { code?: string }) => error.code);
  await api.transport.close();
  expect(await ended).toBe('UND_ERR_DESTROYED');
  await until(() => api.server.openConnections === 0);
  await expect(api.transport.send(get)).rejects.toMatchObject({ code: 'ECLOSED' });
});

test('the path of requests is below the path of the server URL', async () => {
  const server = `http://127.0.0.1:${api.server.port}/k8s/c1/`;
  const transport = new Transport(kubeConfigOf({ server, skipTLSVerify: true }), new FakeClock());
  const response = read(transport.send(get));
  const request = await api.server.next();
  expect(request.path).toBe('/k8s/c1/version');
  request.answer({});
  await response;
  await transport.close();
});

// undici settles an aborted request only when its connect ends.
test.each([true, false])(
  'a request without an answer ends with the signal while the handshake hangs (a watch: %s)',
  async (streaming) => {
    const silent = await SilentServer.start();
    const server = `https://127.0.0.1:${silent.port}`;
    const transport = new Transport(kubeConfigOf({ server, skipTLSVerify: true }), new FakeClock());
    const controller = new AbortController();
    const sent = transport.send({ ...get, signal: controller.signal, streaming });
    await silent.connected;
    controller.abort(new Error('the term is over'));
    await expect(sent).rejects.toThrow('the term is over');
    expect(silent.openConnections).toBe(1);
    await transport.close();
    await until(() => silent.openConnections === 0);
    await silent.close();
  },
);

const refusal = new Error('the term is over');
const refuse = () => {
  throw refusal;
};

test('guard of a request is called when a connection takes the request, not before', async () => {
  const others = Array.from({ length: 32 }, () => read(api.transport.send(get)));
  const taken = await Promise.all(others.map(() => api.server.next()));
  let over = false;
  const waiting = read(api.transport.send({ ...get, guard: () => over && refuse() }));
  over = true;
  for (const request of taken) request.answer({});
  await expect(waiting).rejects.toBe(refusal);
  await Promise.all(others);
  expect(api.server.requests).toBe(32);
});

test('guard of a request stops that one alone: the next one is answered', async () => {
  await expect(api.transport.send({ ...get, guard: refuse })).rejects.toBe(refusal);
  const answered = read(api.transport.send({ ...get, guard: () => undefined }));
  (await api.server.next()).answer({ it: 'is' });
  expect(await answered).toBe('{"it":"is"}');
  expect(api.server.requests).toBe(1);
});
