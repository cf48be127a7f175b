import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { READINESS_PORT } from '../../../src/injection/envoy/files.ts';
import {
  DESTINATION_HEADER,
  directRoutes,
  NO_ROUTES,
  OUTBOUND,
  ROUTES_DIRECTORY,
  ROUTES_FILE,
  routesFile,
} from '../../../src/injection/envoy/routed.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { eventually } from '../../env/eventually.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { ENVOY_CONFIGURATIONS } from '../../support/routing/envoy-configurations.ts';
import { startEnvoy } from '../../support/routing/envoy-process.ts';

const APP = '{"address":"127.0.0.1","port_value":8080}';

describeWithEnvoy('a real Envoy', (envoy) => {
  const afterwards: (() => unknown)[] = [];

  afterEach(async () => {
    for (const undo of afterwards.splice(0).reverse()) await undo();
  });

  async function application(name: string): Promise<string> {
    const server = createServer((request, response) => {
      response.setHeader('app', name).setHeader('client', request.headers['x-forwarded-for'] ?? '');
      response.end(request.url);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterwards.push(() => close(server));
    return `{"address":"127.0.0.1","port_value":${(server.address() as AddressInfo).port}}`;
  }

  test.each(Object.keys(ENVOY_CONFIGURATIONS))(
    'Envoy starts with the configuration %s of deploy/envoy',
    async (name) => {
      const directory = await mkdtemp(join(tmpdir(), 'envoy-configuration-'));
      afterwards.push(() => rm(directory, { recursive: true }));
      const text = await readFile(join(projectDirectory(), 'deploy', 'envoy', name), 'utf8');
      // Directories of runtime layers and of routes exist only in the pod.
      await writeFile(join(directory, ROUTES_FILE), NO_ROUTES);
      await writeFile(
        join(directory, name),
        text
          .replaceAll(/("symlink_root"\s*:\s*)"[^"]*"/g, `$1"${directory}"`)
          .replaceAll(ROUTES_DIRECTORY, directory),
      );
      const args = ['--mode', 'validate', '--config-path', join(directory, name), '--log-level', 'critical'];
      expect((await promisify(execFile)(envoy, args)).stderr).toBe('');
    },
  );

  test('the default configuration passes port 80 on to the application, and says when it is ready', async () => {
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['envoy.json'] ?? {}, {
      [APP]: await application('web'),
    });
    afterwards.push(proxy.stop);
    const response = await fetch(`${proxy.url(80)}/some/where?a=b`);
    expect(await response.text()).toBe('/some/where?a=b');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      server: 'envoy',
      app: 'web',
      client: expect.stringMatching(/^[\d.]+$/),
    });
    expect((await fetch(`${proxy.url(READINESS_PORT)}/stats`)).status).toBe(404);
    // The access log is written every few seconds.
    await eventually('the request is in the access log', async () =>
      proxy.output.some((line) => line.includes('"GET /some/where?a=b HTTP/1.1" 200')),
    );
  });

  test('the application decides how many requests Envoy sends it at a time', async () => {
    const held: ServerHttp2Stream[] = [];
    // More than Envoy allows on its own, by clients with fewer than 250 each.
    const count = 1100;
    const server = createHttp2Server().on('stream', (stream: ServerHttp2Stream) => {
      held.push(stream);
      if (held.length === count)
        for (const each of held) each.respond({ ':status': 200 }, { endStream: true });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterwards.push(() => server.close());
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['envoy.json'] ?? {}, {
      [APP]: `{"address":"127.0.0.1","port_value":${(server.address() as AddressInfo).port}}`,
    });
    afterwards.push(proxy.stop);
    const clients = Array.from({ length: 5 }, () => connectHttp2(proxy.url(80)));
    for (const client of clients) afterwards.push(() => client.destroy());
    const answers = Array.from({ length: count }, async (_, index) => {
      const stream = clients[index % clients.length]?.request({ ':path': '/' });
      const [headers] = await once(stream?.resume() ?? server, 'response');
      if (headers[':status'] !== 200) throw new Error(`request ${index} got ${headers[':status']}`);
    });
    await expect(Promise.all(answers)).resolves.toHaveLength(count);
  });

  test('Envoy closes an idle connection to the application, so no request meets its end', async () => {
    const server = createServer((_, response) => response.end());
    // It never closes one itself.
    server.keepAliveTimeout = 0;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterwards.push(() => close(server));
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['envoy.json'] ?? {}, {
      [APP]: `{"address":"127.0.0.1","port_value":${(server.address() as AddressInfo).port}}`,
    });
    afterwards.push(proxy.stop);
    const connected = once(server, 'connection');
    expect((await fetch(proxy.url(80))).status).toBe(200);
    const [socket] = await connected;
    await once(socket, 'end');
  });

  test.each(['envoy.json', 'transparent.json'])(
    'Envoy with %s says that it is not ready while it is drained, and goes on serving',
    async (name) => {
      const routes = await mkdtemp(join(tmpdir(), 'envoy-initializer-routes-'));
      afterwards.push(() => rm(routes, { recursive: true }));
      await writeFile(join(routes, 'rds.json'), NO_ROUTES);
      const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS[name] ?? {}, {
        [APP]: await application('web'),
        '/etc/envoy-routes': routes,
      });
      afterwards.push(proxy.stop);
      const ready = async () => (await fetch(`${proxy.url(READINESS_PORT)}/ready`)).status;
      // The kubelet mounts an annotation that is not there as an empty file.
      for (const [drain, status] of [
        ['', 200],
        ['100', 503],
        ['', 200],
      ] as const) {
        await mount(proxy.directory, { 'drain/drain': drain });
        await eventually(`/ready answers ${status}`, async () => (await ready()) === status);
        if (name === 'envoy.json') expect((await fetch(proxy.url(80))).status).toBe(200);
      }
    },
  );

  test.each(Object.keys(ENVOY_CONFIGURATIONS))(
    '%s lets nobody reach a backend, or more of Envoy, by the port of its readiness',
    async (name) => {
      const routes = await mkdtemp(join(tmpdir(), 'envoy-initializer-routes-'));
      afterwards.push(() => rm(routes, { recursive: true }));
      const app = await application('web');
      const { port_value: port } = JSON.parse(app);
      const backend = `127.0.0.1:${port}`;
      const domains = [backend, 'app', '127.0.0.1'];
      const host = { name: 'app', domains, routes: directRoutes(OUTBOUND) };
      await writeFile(join(routes, ROUTES_FILE), routesFile([JSON.stringify(host)], 'some'));
      const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS[name] ?? {}, {
        ...{ [APP]: app, '/etc/envoy-routes': routes, '/etc/envoy-weights': routes },
        ...{ '{"address":"app-v1","port_value":8080}': app, '{"address":"app-v2","port_value":8080}': app },
      });
      afterwards.push(proxy.stop);
      const forged = `${DESTINATION_HEADER}: ${backend}`;
      const heads = ['', forged, `${forged}\r\n${forged}`, `${forged}\r\nConnection: ${DESTINATION_HEADER}`];
      heads.push(`x-envoy-original-dst-host: ${backend}`, 'Connection: upgrade\r\nUpgrade: websocket');
      const paths = ['/', '/stats', '/ready/../stats', '/ready%2f..%2fstats', '//ready', '/READY', '/ready/'];
      const lines = [...paths, `http://${backend}/`].map((path) => `GET ${path}`);
      lines.push('POST /quitquitquit', `CONNECT ${backend}`, 'OPTIONS *');
      for (const line of lines)
        for (const head of heads)
          expect({ line, head, answer: await raw(proxy.url(READINESS_PORT), line, backend, head) }).toEqual({
            ...{ line, head, answer: expect.stringMatching(/^HTTP\/1\.1 (400|403|404) /) },
          });
    },
  );

  test('with a real Envoy the canary follows the weights of its directory, and fails no request meanwhile', async () => {
    const weights = await mkdtemp(join(tmpdir(), 'envoy-initializer-weights-'));
    afterwards.push(() => rm(weights, { recursive: true }));
    await shift(weights, { app_v1: 100, app_v2: 0 });
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['canary.json'] ?? {}, {
      '{"address":"app-v1","port_value":8080}': await application('v1'),
      '{"address":"app-v2","port_value":8080}': await application('v2'),
      '/etc/envoy-weights': weights,
    });
    afterwards.push(proxy.stop);
    const statuses = new Set<number>();
    const ask = async () => {
      const response = await fetch(proxy.url(80));
      statuses.add(response.status);
      return response.headers.get('app');
    };
    expect(new Set(await Promise.all(Array.from({ length: 20 }, ask)))).toEqual(new Set(['v1']));
    await shift(weights, { app_v1: 0, app_v2: 100 });
    await eventually('all requests go to the new version', async () =>
      (await Promise.all(Array.from({ length: 20 }, ask))).every((version) => version === 'v2'),
    );
    expect([...statuses]).toEqual([200]);
  });
});

/** The status line for a request that `fetch` would not send. */
async function raw(url: string, line: string, host: string, head: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\n${head}${head && '\r\n'}\r\n`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return `${answer}`.split('\r\n')[0] ?? '';
}

function shift(directory: string, weights: Readonly<Record<string, number>>): Promise<void> {
  return mount(
    directory,
    Object.fromEntries(Object.entries(weights).map(([name, weight]) => [`canary.${name}`, `${weight}`])),
  );
}

/** As the kubelet updates a volume's directory: a new one, and a link that is renamed to it. */
async function mount(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  const next = await mkdtemp(join(directory, 'state-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(next, name)), { recursive: true });
    await writeFile(join(next, name), text);
  }
  await symlink(next, join(directory, '..data_tmp'));
  await rename(join(directory, '..data_tmp'), join(directory, '..data'));
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
