import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Transport } from '../../../../src/kube/client/transport.ts';
import { ConnectProxy } from '../../../support/kube/connect-proxy.ts';
import { kubeConfigOf } from '../../../support/kube/scripted-client.ts';
import { ScriptedServer } from '../../../support/kube/scripted-server.ts';
import { type TestAuthority, testAuthority } from '../../../support/kube/test-authority.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const { signal } = new AbortController();
const get = { method: 'GET', path: '/version', signal } as const;

let authority: TestAuthority;
let server: ScriptedServer;
let proxy: ConnectProxy;
let transport: Transport;
let clock: FakeClock;

beforeEach(async () => {
  authority = await testAuthority();
  const { certPem: cert, keyPem: key } = await authority.server();
  server = await ScriptedServer.start({ cert, key });
  proxy = await ConnectProxy.start();
  clock = new FakeClock();
  transport = new Transport(configBy(`http://127.0.0.1:${proxy.port}`), clock);
});
afterEach(async () => {
  await transport.close();
  await proxy.close();
  await server.close();
});

function configBy(proxyUrl: string) {
  const cluster = { server: `https://localhost:${server.port}`, caData: btoa(authority.caPem), proxyUrl };
  return kubeConfigOf(cluster, { token: 'for the API server alone' });
}

async function exchange(): Promise<number> {
  const sent = transport.send(get);
  const request = await Promise.race([server.next(), sent.then(() => undefined)]);
  expect(request?.headers.authorization).toBe('Bearer for the API server alone');
  request?.answer({});
  const { statusCode, body } = await sent;
  await body.text();
  return statusCode;
}

test('a tunnel through a proxy authenticates with a username and a password', async () => {
  await transport.close();
  transport = new Transport(configBy(`http://me:p%40ss@127.0.0.1:${proxy.port}`), clock);
  await exchange();
  expect(proxy.asked[0]?.authorization).toBe(`Basic ${btoa('me:p@ss')}`);
});

test('a tunnel through a proxy uses TLS to a proxy with a certificate of the cluster’s authority', async () => {
  await proxy.close();
  await transport.close();
  const { certPem: cert, keyPem: key } = await authority.server();
  proxy = await ConnectProxy.start({ cert, key });
  transport = new Transport(configBy(`https://localhost:${proxy.port}`), clock);
  expect(await exchange()).toBe(200);
  expect(proxy.asked).toHaveLength(1);
});

test("a tunnel through a proxy that refuses fails with the proxy's name, without its password", async () => {
  await transport.close();
  transport = new Transport(configBy(`http://me:secret@127.0.0.1:${proxy.port}`), clock);
  proxy.status = '407 Proxy Authentication Required';
  await expect(transport.send(get)).rejects.toMatchObject({
    name: 'TransportError',
    message: `GET https://localhost:${server.port}/version via proxy http://127.0.0.1:${proxy.port}: Proxy response (407) !== 200 when HTTP Tunneling`,
  });
  proxy.status = '200 OK';
  expect(await exchange()).toBe(200);
});

test('a tunnel through a proxy does not trust an API server of another authority', async () => {
  await transport.close();
  authority = await testAuthority();
  transport = new Transport(configBy(`http://127.0.0.1:${proxy.port}`), clock);
  await expect(transport.send(get)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  expect(server.requests).toBe(0);
});

test('a tunnel through a proxy ends with its transport, and so does the watch of a retired pool', async () => {
  const watch = transport.send({ ...get, streaming: true });
  (await server.next()).stream();
  const ended = (await watch).body.text().catch((error: Error & { code?: string }) => error.code);
  clock.advance(400_000);
  await exchange();
  expect(proxy.openTunnels).toBe(2);
  await transport.close();
  expect(await ended).toBe('UND_ERR_DESTROYED');
  await until(() => proxy.openTunnels === 0);
});
