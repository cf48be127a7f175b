import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readUrl } from '../../../../src/cli/io/read-url.ts';
import { processTerminal } from '../../../../src/cli/io/terminal.ts';
import { makeKeyPair } from '../../../support/kube/certificates.ts';
import { SilentServer } from '../../../support/kube/silent-server.ts';

let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/web.yaml') response.end('kind: Pod\n');
    else if (request.url === '/moved') response.writeHead(302, { Location: '/web.yaml' }).end();
    else if (request.url === '/endless') {
      const more = () => {
        if (response.write('#'.repeat(65_536))) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    } else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('a terminal reads a URL, also one that has moved', async () => {
  expect(await processTerminal.read(`${origin}/web.yaml`)).toBe('kind: Pod\n');
  expect(await processTerminal.read(`${origin}/moved`)).toBe('kind: Pod\n');
});

test('an answer that is no file is an error with its status', async () => {
  await expect(readUrl(`${origin}/gone`)).rejects.toThrow('the server answers 404 Not Found');
});

test('an endless file is read to its limit', async () => {
  await expect(readUrl(`${origin}/endless`, { maxBytes: 100_000 })).rejects.toThrow(
    'it has more than 100000 bytes',
  );
});

test('a server that says nothing is not awaited', async () => {
  const silent = await SilentServer.start();
  const reading = readUrl(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 50 });
  await expect(reading).rejects.toThrow('no answer within 0.05 s');
  await silent.close();
});

test('a server that is not there is an error that names it', async () => {
  const silent = await SilentServer.start();
  const { port } = silent;
  await silent.close();
  await expect(readUrl(`http://127.0.0.1:${port}/`)).rejects.toThrow(`ECONNREFUSED 127.0.0.1:${port}`);
});

test('a server on this machine is asked without a proxy, as by kubectl', async () => {
  process.env.HTTP_PROXY = 'http://127.0.0.1:9';
  try {
    expect(String(await readUrl(`${origin}/web.yaml`))).toBe('kind: Pod\n');
    await expect(readUrl('http://example.test/web.yaml')).rejects.toThrow('ECONNREFUSED 127.0.0.1:9');
    process.env.NO_PROXY = 'example.test';
    await expect(readUrl('http://example.test/web.yaml')).rejects.toThrow('example.test');
  } finally {
    delete process.env.HTTP_PROXY;
    delete process.env.NO_PROXY;
  }
});

// The bundle of the image has no HTTP/2.
test('a proxy with TLS is not offered HTTP/2', async () => {
  let offered: readonly string[] = [];
  const ALPNCallback = ({ protocols }: { readonly protocols: readonly string[] }) => {
    offered = protocols;
    return 'http/1.1';
  };
  const proxy = createTlsServer({ ...makeKeyPair(), ALPNCallback }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  process.env.HTTPS_PROXY = `https://localhost:${(proxy.address() as AddressInfo).port}`;
  try {
    await expect(readUrl('https://example.test/web.yaml')).rejects.toThrow('self-signed certificate');
    expect(offered).toEqual(['http/1.1']);
  } finally {
    delete process.env.HTTPS_PROXY;
    proxy.close();
  }
});
