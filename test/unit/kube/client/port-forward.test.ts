import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { textFromPod } from '../../../../src/kube/client/port-forward.ts';
import { Transport } from '../../../../src/kube/client/transport.ts';
import { KubeletPorts } from '../../../support/cluster/kubelet-ports.ts';
import { ConnectProxy } from '../../../support/kube/connect-proxy.ts';
import { kubeConfigOf } from '../../../support/kube/scripted-client.ts';
import { type TestAuthority, testAuthority } from '../../../support/kube/test-authority.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const POD = { namespace: 'shop', name: 'web-0' };
const LARGE = 'x'.repeat(3_000_000);
const { signal } = new AbortController();

let authority: TestAuthority;
let kubelet: KubeletPorts;
let pod: Server;
let transport: Transport;

beforeEach(async () => {
  authority = await testAuthority();
  kubelet = await KubeletPorts.start(authority);
  pod = createServer((request, response) => {
    if (request.url === '/none') response.writeHead(404).end('no such page');
    else if (request.url === '/huge') response.end(Buffer.alloc(17 * 1024 * 1024, 'x'));
    else response.end(request.url === '/large' ? LARGE : `page ${request.url} for ${request.headers.host}`);
  });
  pod.listen(0, '127.0.0.1');
  await once(pod, 'listening');
  transport = new Transport(await configBy({}), new FakeClock(), 'a-program/1.0');
});
afterEach(async () => {
  await transport.close();
  await kubelet.close();
  await new Promise((resolve) => pod.close(resolve));
});

/** A kubeconfig with a client certificate, which impersonates a user with two groups. */
async function configBy(settings: { readonly proxyUrl?: string }) {
  const { certPem, keyPem } = await authority.client('alice');
  const cluster = { server: `https://localhost:${kubelet.port}/prefix/`, caData: btoa(authority.caPem) };
  const user = { certData: btoa(certPem), keyData: btoa(keyPem) };
  const impersonation = { impersonateUser: 'bob', impersonateGroups: ['one', 'two'] };
  return kubeConfigOf({ ...cluster, ...settings }, { ...user, ...impersonation });
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function page(path: string, by = transport): Promise<string> {
  return await textFromPod(by, POD, { port: portOf(pod), path }, signal);
}

test("a port-forward gets a page, by a path of the API server and the kubeconfig's credentials", async () => {
  expect(await page('/metrics')).toBe('page /metrics for localhost');
  expect(kubelet.asked).toEqual([
    {
      path: `/prefix/api/v1/namespaces/shop/pods/web-0/portforward?ports=${portOf(pod)}`,
      user: 'alice',
      headers: expect.objectContaining({
        'user-agent': 'a-program/1.0',
        'impersonate-user': 'bob',
        'impersonate-group': 'one, two',
        'sec-websocket-protocol': 'v4.channel.k8s.io',
      }),
    },
  ]);
});

test('a port-forward gets a page in many messages, and ends with it', async () => {
  expect(await page('/large')).toBe(LARGE);
  await until(() => kubelet.open === 0);
});

test('a port-forward goes through the proxy of the kubeconfig', async () => {
  const proxy = await ConnectProxy.start();
  const proxied = new Transport(
    await configBy({ proxyUrl: `http://127.0.0.1:${proxy.port}` }),
    new FakeClock(),
  );
  try {
    expect(await page('/metrics', proxied)).toBe('page /metrics for localhost');
    expect(proxy.asked).toMatchObject([{ target: `localhost:${kubelet.port}` }]);
  } finally {
    await proxied.close();
    await proxy.close();
  }
});

test('a port-forward fails with what the pod answers, and with an answer without end', async () => {
  await expect(page('/none')).rejects.toMatchObject({ status: 404, message: /no such page/ });
  await expect(page('/huge')).rejects.toMatchObject({ code: 'ETOOLARGE' });
  await until(() => kubelet.open === 0);
});

test('a port-forward fails with what the API server answers, such as a missing right', async () => {
  const message = 'pods "web-0" is forbidden: User "bob" cannot get resource "pods/portforward"';
  const body = JSON.stringify({ kind: 'Status', code: 403, message });
  kubelet.refusal = { status: '403 Forbidden', body };
  await expect(page('/metrics')).rejects.toMatchObject({ name: 'ApiError', status: 403, message });
});

test('a port-forward fails with what the kubelet says, such as a closed port', async () => {
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const port = portOf(closed);
  await new Promise((resolve) => closed.close(resolve));
  const asked = textFromPod(transport, POD, { port, path: '/metrics' }, signal);
  await expect(asked).rejects.toMatchObject({
    name: 'TransportError',
    message: expect.stringContaining(`error forwarding port ${port}: connect ECONNREFUSED`),
  });
});

test('a port-forward ends at the signal, while the server says nothing', async () => {
  kubelet.isSilent = true;
  const stop = new AbortController();
  const page = { port: portOf(pod), path: '/metrics' };
  const connecting = textFromPod(transport, POD, page, stop.signal);
  await until(() => kubelet.asked.length === 1);
  stop.abort(new Error('enough'));
  await expect(connecting).rejects.toThrow('enough');
});
