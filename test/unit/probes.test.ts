import { once } from 'node:events';
import type { Server } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { createProbesServer, type ReadinessCheck } from '../../src/probes.ts';

let server: Server | undefined;
let level: string;

afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serving(
  checks: readonly ReadinessCheck[],
  registry = new Registry(),
  host = '127.0.0.1',
  stuck?: () => string | undefined,
): Promise<string> {
  level = 'info';
  server = createProbesServer({
    registry,
    checks,
    ...(stuck && { stuck }),
    debug: { controllers: () => ({ network: [] }) },
    verbosity: { level: () => level, setLevel: (wanted) => (level = wanted) },
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  return `http://${host}:${typeof address === 'object' ? address?.port : ''}`;
}

describe('the probes server', () => {
  test('is alive whatever is not ready', async () => {
    const url = await serving([{ name: 'cache', failure: () => 'not yet' }]);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test('is not alive while something is stuck, and says what', async () => {
    let problem: string | undefined = 'controller network has reconciled nothing';
    const url = await serving([], new Registry(), '127.0.0.1', () => problem);
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.text()]).toEqual([503, `${problem}\n`]);
    // The webhook goes on until the restart.
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    problem = undefined;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test('is ready when every check holds', async () => {
    const url = await serving([{ name: 'cache', failure: () => undefined }]);
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.text()]).toEqual([200, 'ok\n']);
  });

  test('says which check fails, and why', async () => {
    const url = await serving([
      { name: 'webhook', failure: () => undefined },
      { name: 'cache', failure: () => 'the template is not read yet' },
    ]);
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.text()]).toEqual([
      503,
      '[+]webhook ok\n[-]cache failed: the template is not read yet\nreadyz check failed\n',
    ]);
  });

  test('asks the checks each time', async () => {
    let failure: string | undefined = 'not yet';
    const url = await serving([{ name: 'cache', failure: () => failure }]);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    failure = undefined;
    expect((await fetch(`${url}/readyz?verbose`)).status).toBe(200);
  });

  test('shows metrics and debug pages', async () => {
    const registry = new Registry();
    new Counter({ name: 'things_total', help: 'Things', registers: [registry] }).inc(3);
    const url = await serving([], registry);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('things_total 3');
    expect(await (await fetch(`${url}/debug/controllers`)).json()).toEqual({ network: [] });
    expect((await fetch(`${url}/debug/nothing`)).status).toBe(404);
  });

  test('tells the log level, and changes it', async () => {
    const page = `${await serving([])}/debug/log-level`;
    expect(await (await fetch(page)).text()).toBe('info\n');
    const answer = await fetch(page, { method: 'PUT', body: 'debug' });
    expect([answer.status, await answer.text(), level]).toEqual([200, 'debug\n', 'debug']);
    expect(await (await fetch(page)).text()).toBe('debug\n');
  });

  test.each(['', 'loud', 'x'.repeat(200)])('refuses %j for a log level', async (body) => {
    const answer = await fetch(`${await serving([])}/debug/log-level`, { method: 'PUT', body });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(level).toBe('info');
  });

  test('lets nobody from elsewhere change the log level', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const outside = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
    const page = `${await serving([], new Registry(), outside)}/debug/log-level`;
    const answer = await fetch(page, { method: 'PUT', body: 'debug' });
    expect([answer.status, await answer.text(), level]).toEqual([
      403,
      'only from this pod: by kubectl port-forward\n',
      'info',
    ]);
    expect((await fetch(page)).status).toBe(200);
  });
});
