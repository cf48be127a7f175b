import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { askSidecar } from '../../../../../src/addons/routes/delivery/ask-sidecar.ts';
import { READINESS_PORT } from '../../../../../src/injection/envoy/files.ts';

/** For no other test. */
const ADDRESS = '127.15.5.1';
const { signal } = new AbortController();
let server: Server | undefined;

async function serve(listener: RequestListener): Promise<void> {
  server = createServer(listener);
  server.listen(READINESS_PORT, ADDRESS);
  await once(server, 'listening');
}

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

test('askSidecar answers with the version that the sidecar says at /routes', async () => {
  const urls: (string | undefined)[] = [];
  await serve(({ url }, response) => {
    urls.push(url);
    response.end('0123456789abcdef');
  });
  expect(await askSidecar(ADDRESS, signal)).toBe('0123456789abcdef');
  expect(urls).toEqual(['/routes']);
});

test.each<[string, RequestListener]>([
  ['is older, and has no such path', (_, response) => void response.writeHead(404).end('no')],
  ['hangs up', ({ socket }) => void socket.destroy()],
  ['hangs up amid its answer', (_, response) => void response.write('0123', () => response.destroy())],
  ['says too much', (_, response) => void response.end('x'.repeat(101))],
])('askSidecar answers with nothing where the sidecar %s', async (_, listener) => {
  await serve(listener);
  expect(await askSidecar(ADDRESS, signal)).toBeUndefined();
});

test('askSidecar answers with nothing where no sidecar listens', async () => {
  expect(await askSidecar(ADDRESS, signal)).toBeUndefined();
});

test('askSidecar waits no longer when the process ends, nor for a sidecar that never answers', async () => {
  const stop = new AbortController();
  await serve(() => stop.abort());
  expect(await askSidecar(ADDRESS, stop.signal)).toBeUndefined();
  server?.removeAllListeners('request');
  expect(await askSidecar(ADDRESS, signal)).toBeUndefined();
});
