import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Plugin } from '../../../../src/kube/client/kubeconfig/kubeconfig-fields.ts';
import { Transport, type TransportResponse } from '../../../../src/kube/client/transport.ts';
import { kubeConfigOf, plainKubeConfig, startScripted } from '../../../support/kube/scripted-client.ts';
import { ScriptedServer } from '../../../support/kube/scripted-server.ts';
import { type TestAuthority, testAuthority } from '../../../support/kube/test-authority.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

/** Whether a process of this id runs. One that has ended, and that nobody has waited for yet, does not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** The state follows the command's name, which is in parentheses and may hold any character: proc(5). */
function isZombie(pid: number): boolean {
  try {
    return /^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Gone meanwhile, or a system without /proc, where init is quick.
    return false;
  }
}

/** A credential plugin that is a script of Node. */
function execConfig(script: string, more: Partial<Plugin> = {}): Plugin {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', script],
    env: {},
    ...more,
  };
}

const { signal } = new AbortController();
const get = { method: 'GET', path: '/version', signal } as const;
let folder: string;
let tokenFile: string;
let tokenUser: object;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  tokenFile = join(folder, 'token');
  tokenUser = { tokenFile };
});
afterEach(() => rm(folder, { recursive: true }));

async function statusOf(response: Promise<TransportResponse>): Promise<number> {
  const { statusCode, body } = await response;
  await body.text();
  return statusCode;
}

test('a token that was rotated is read again when the server refuses the old one', async () => {
  await writeFile(tokenFile, 'old\n');
  const { server, transport, close } = await startScripted({}, tokenUser);
  const first = statusOf(transport.send(get));
  const request = await server.next();
  expect(request.headers.authorization).toBe('Bearer old');
  await writeFile(tokenFile, 'new\n');
  request.fail(401);
  const again = await server.next();
  expect(again.headers.authorization).toBe('Bearer new');
  again.answer({});
  expect(await first).toBe(200);
  await close();
});

test.each([
  ['is fetched again when it has expired', '2001-01-01T00:00:00Z', 'Bearer new'],
  ['is fetched once while it is valid', '2999-01-01T00:00:00Z', 'Bearer old'],
  ['is fetched once without an expiry', undefined, 'Bearer old'],
])('a token of a plugin %s', async (_, expirationTimestamp, second) => {
  const user = countedExec(['old', 'new'], expirationTimestamp);
  const { server, transport, clock, close } = await startScripted({}, user);
  for (const authorization of ['Bearer old', second]) {
    const sent = statusOf(transport.send(get));
    const request = await server.next();
    expect(request.headers.authorization).toBe(authorization);
    request.answer({});
    await sent;
    clock.advance(10_000);
  }
  await close();
});

test.each([
  ['fails', 'console.error("one\\nlog in first"); process.exit(3)', 'failed, exit code 3: log in first'],
  ['prints no JSON', 'console.log("secret")', 'printed no JSON'],
  ['prints something else', 'console.log("{}")', 'printed no ExecCredential with a status'],
])('a token of a plugin that %s is an error that names it', async (_, script, problem) => {
  const transport = new Transport(plainKubeConfig(1, { plugin: execConfig(script) }), new FakeClock());
  await expect(transport.send(get)).rejects.toMatchObject({
    code: 'ECREDENTIALS',
    message: `cannot read the credentials for the API server: the credential plugin ${process.execPath} ${problem}`,
  });
});

test('a token is read again once for many refused requests', async () => {
  const { server, transport, close } = await startScripted({}, countedExec(['old', 'new', 'newer']));
  const all = [1, 2, 3].map(() => statusOf(transport.send(get)));
  for (const request of [await server.next(), await server.next(), await server.next()]) request.fail(401);
  for (const _ of all) {
    const again = await server.next();
    expect(again.headers.authorization).toBe('Bearer new');
    again.answer({});
  }
  expect(await Promise.all(all)).toEqual([200, 200, 200]);
  await close();
});

test('a token that cannot be read is an error, unless a cached one is still accepted', async () => {
  const { server, transport, clock, close } = await startScripted({}, { keyFile: join(folder, 'key') });
  await expect(transport.send(get)).rejects.toMatchObject({
    code: 'ECREDENTIALS',
    message: expect.stringContaining('cannot read the credentials for the API server: ENOENT'),
  });

  await writeFile(join(folder, 'key'), 'key');
  const first = statusOf(transport.send(get));
  (await server.next()).answer({});
  await first;
  await rm(join(folder, 'key'));
  clock.advance(10_000);
  const meanwhile = statusOf(transport.send(get));
  (await server.next()).answer({});
  expect(await meanwhile).toBe(200);
  const refused = transport.send(get).catch((error: unknown) => error);
  (await server.next()).fail(401);
  expect(await refused).toMatchObject({ code: 'ECREDENTIALS' });
  await close();
});

test('a token of a hanging plugin does not keep the caller from stopping', async () => {
  const started = join(folder, 'started');
  const hangs = `require('node:fs').writeFileSync('${started}', String(process.pid)); setInterval(() => {}, 1e6)`;
  const transport = new Transport(plainKubeConfig(1, { plugin: execConfig(hangs) }), new FakeClock());
  const stop = new AbortController();
  const sent = transport.send({ ...get, signal: stop.signal });
  await until(() => existsSync(started) && readFileSync(started, 'utf8') !== '');
  stop.abort(new Error('stop'));
  await expect(sent).rejects.toThrow('stop');
  await transport.close();
  const pid = Number(readFileSync(started, 'utf8'));
  // A plugin that still runs would keep this process from ending.
  await until(() => !isRunning(pid));
});

/** A kubeconfig whose exec plugin prints another token each time it runs. */
function countedExec(tokens: readonly string[], expirationTimestamp?: string): object {
  const state = join(folder, 'runs');
  const script = `
    const fs = require('node:fs');
    const runs = fs.existsSync('${state}') ? Number(fs.readFileSync('${state}')) : 0;
    fs.writeFileSync('${state}', String(runs + 1));
    const status = { token: ${JSON.stringify(tokens)}[runs], expirationTimestamp: ${JSON.stringify(expirationTimestamp)} };
    console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', status }));`;
  return { plugin: execConfig(script) };
}

describe('a client certificate', () => {
  let authority: TestAuthority;
  let server: ScriptedServer;
  let peers: string[];

  beforeEach(async () => {
    authority = await testAuthority();
    const { certPem, keyPem } = await authority.server();
    server = await ScriptedServer.start({
      cert: certPem,
      key: keyPem,
      ca: authority.caPem,
      requestCert: true,
    });
    peers = [];
  });
  afterEach(() => server.close());

  async function writeClient(commonName: string): Promise<void> {
    const { certPem, keyPem } = await authority.client(commonName);
    await writeFile(join(folder, 'cert'), certPem);
    await writeFile(join(folder, 'key'), keyPem);
  }

  function tlsConfig(caPem: string) {
    return kubeConfigOf(
      { server: `https://127.0.0.1:${server.port}`, caData: btoa(caPem) },
      { certFile: join(folder, 'cert'), keyFile: join(folder, 'key') },
    );
  }

  async function answerNext(): Promise<void> {
    const request = await server.next();
    peers.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString() ?? '');
    request.answer({});
  }

  test('a client certificate that was rotated is used within ten seconds, on a new connection', async () => {
    await writeClient('old');
    const clock = new FakeClock();
    const transport = new Transport(tlsConfig(authority.caPem), clock);
    const watch = transport.send({ ...get, streaming: true });
    const watched = await server.next();
    watched.stream();
    const { body } = await watch;
    await Promise.all([statusOf(transport.send(get)), answerNext()]);
    await writeClient('new');
    clock.advance(9_999);
    await Promise.all([statusOf(transport.send(get)), answerNext()]);
    clock.advance(1);
    await Promise.all([statusOf(transport.send(get)), answerNext()]);
    expect(peers).toEqual(['old', 'old', 'new']);
    expect(server.connections).toBe(3);

    watched.write('still here').end();
    expect(await body.text()).toBe('still here');
    await transport.close();
    await until(() => server.openConnections === 0);
  });

  test('a client certificate is not presented to a server of another authority', async () => {
    await writeClient('me');
    const transport = new Transport(tlsConfig((await testAuthority()).caPem), new FakeClock());
    await expect(transport.send(get)).rejects.toMatchObject({
      name: 'TransportError',
      code: 'SELF_SIGNED_CERT_IN_CHAIN',
    });
    expect(server.requests).toBe(0);
    await transport.close();
  });
});
