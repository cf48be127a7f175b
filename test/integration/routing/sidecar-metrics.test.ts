import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readPage, rowsOf, samplesIn } from '../../../src/addons/routes/cli/traffic-numbers.ts';
import { METRICS_PATH, METRICS_PORT } from '../../../src/injection/envoy/files.ts';
import { NO_ROUTES } from '../../../src/injection/envoy/routed.ts';
import { eventually } from '../../env/eventually.ts';
import { times } from '../../support/growth/growing-input.ts';
import { describeWithEnvoy } from '../../support/jest/describe-with-envoy.ts';
import { ENVOY_CONFIGURATIONS } from '../../support/routing/envoy-configurations.ts';
import { type EnvoyProcess, startEnvoy } from '../../support/routing/envoy-process.ts';
import { routeFor, servicesOf } from '../../support/routing/routes.ts';
import { RoutingLab } from '../../support/routing/routing-lab.ts';

describeWithEnvoy('metrics', (envoy) => {
  const afterwards: (() => unknown)[] = [];

  afterEach(async () => {
    for (const undo of afterwards.splice(0).reverse()) await undo();
  });

  test('a sidecar counts each request of a split by its rule, its backend and the class of its code', async () => {
    const lab = await RoutingLab.start(envoy);
    afterwards.push(() => lab.stop());
    const services = servicesOf(['web', 'v1', 'v2'].map((name, at) => lab.service('shop', name, at + 1)));
    const route = routeFor('shop/split', 'shop/web', [
      {
        backendRefs: [
          { name: 'v1', port: lab.port, weight: 90 },
          { name: 'v2', port: lab.port, weight: 10 },
        ],
      },
    ]);
    await lab.apply({ routes: [route], services }, 'shop');
    const told = { v1: 0, good: 0, bad: 0 };
    lab.status = ({ at }) => {
      const kind = at.endsWith('127.0.1.2') ? 'v1' : (told.good + told.bad) % 3 === 0 ? 'bad' : 'good';
      told[kind] += 1;
      // A code that no one knows is still one of its class.
      return kind === 'bad' ? 500 + told.bad : 200;
    };
    for (const _ of times(50, String)) {
      await Promise.all(times(20, () => lab.ask(`127.0.1.1:${lab.port}`)));
    }
    let page = '';
    let counted: Readonly<Record<string, number>> = {};
    // Envoy adds up histograms every five seconds.
    await eventually('all requests are in the page', async () => {
      page = await lab.metrics();
      const samples = [...samplesIn(page)].filter(({ name }) => name === 'envoy_route_milliseconds_count');
      counted = Object.fromEntries(
        samples.map(({ labels, value }) => [`${labels.route}|${labels.backend}|${labels.code}`, value]),
      );
      return Object.values(counted).reduce((sum, value) => sum + value, 0) === 1000;
    });
    expect(told.v1 + told.good + told.bad).toBe(1000);
    expect(told.bad).toBeGreaterThan(10);
    expect(counted).toEqual({
      [`shop/split rules[0]|shop/v1:${lab.port}|2xx`]: told.v1,
      [`shop/split rules[0]|shop/v2:${lab.port}|2xx`]: told.good,
      [`shop/split rules[0]|shop/v2:${lab.port}|5xx`]: told.bad,
    });
    // What `traffic` makes of it.
    expect(rowsOf([readPage(page)])).toMatchObject([
      { backend: `shop/v1:${lab.port}`, requests: told.v1, success: 1 },
      {
        backend: `shop/v2:${lab.port}`,
        requests: told.good + told.bad,
        success: told.good / (told.good + told.bad),
      },
    ]);
  });

  test('a sidecar counts requests to the application without routes', async () => {
    const server = createServer((_, response) => response.writeHead(404).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    afterwards.push(() => server.close().closeAllConnections());
    const proxy = await startEnvoy(envoy, ENVOY_CONFIGURATIONS['envoy.json'] ?? {}, {
      '{"address":"127.0.0.1","port_value":8080}': `{"address":"127.0.0.1","port_value":${(server.address() as AddressInfo).port}}`,
    });
    afterwards.push(proxy.stop);
    await Promise.all(times(7, () => fetch(proxy.url(80))));
    await eventually('the requests are in the page', async () => {
      const page = await (await fetch(`${proxy.url(METRICS_PORT)}${METRICS_PATH}`)).text();
      return page.includes('envoy_inbound_milliseconds_count{backend="app",code="4xx",grpc_status=""} 7');
    });
  });
});

describeWithEnvoy('the port of the metrics', (envoy) => {
  const [APP, V1, V2] = ['127.0.0.1', 'app-v1', 'app-v2'].map(
    (host) => `{"address":"${host}","port_value":8080}`,
  );
  const nowhere = '{"address":"127.0.0.1","port_value":1}';
  const proxies = new Map<string, EnvoyProcess>();
  let routes: string;

  beforeAll(async () => {
    routes = await mkdtemp(join(tmpdir(), 'envoy-initializer-routes-'));
    await writeFile(join(routes, 'rds.json'), NO_ROUTES);
    for (const [name, configuration] of Object.entries(ENVOY_CONFIGURATIONS)) {
      const replaced = { [`${APP}`]: nowhere, [`${V1}`]: nowhere, [`${V2}`]: nowhere };
      const directories = { '/etc/envoy-routes': routes, '/etc/envoy-weights': routes };
      proxies.set(name, await startEnvoy(envoy, configuration, { ...replaced, ...directories }));
    }
  });

  afterAll(async () => {
    for (const proxy of proxies.values()) await proxy.stop();
    await rm(routes, { recursive: true });
  });

  async function answerTo(name: string, request: string): Promise<string> {
    const { hostname, port } = new URL(proxies.get(name)?.url(METRICS_PORT) ?? '');
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(request, 'latin1');
    let text = '';
    for await (const part of socket) text += String(part);
    return text;
  }
  const ask = (name: string, line: string, headers = 'Host: a') =>
    answerTo(name, `${line} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`);

  const PAGES = '/ /quitquitquit /config_dump /stats /stats?format=prometheus /logging /runtime'.split(' ');
  const SPELT = `
    //stats/prometheus /stats//prometheus /stats/prometheus/ /stats/./prometheus /x/../stats/prometheus
    /stats/prometheus/../../quitquitquit /stats/prometheus/%2e%2e/%2E%2E/config_dump /stats%2fprometheus
    /stats/prometheus;/../../config_dump /stats/prometheus?usedonly /stats/prometheus? /stats/prometheus?/../config_dump
    /stats/prometheus# /stats/prometheus%00 /stats/prometheus%3f /STATS/PROMETHEUS /%73tats/prometheus \\stats\\prometheus
    http://localhost:9901/quitquitquit http://127.0.0.1:9901/config_dump http://a/stats/prometheus?filter=.
  `
    .trim()
    .split(/\s+/);

  test.each(Object.keys(ENVOY_CONFIGURATIONS))(
    'the port of the metrics of %s serves one page, whatever Host asks',
    async (name) => {
      for (const host of ['a', 'localhost:9901', '127.0.0.1:9901', '']) {
        const answer = await ask(name, `GET ${METRICS_PATH}`, `Host: ${host}`);
        expect(answer).toMatch(/^HTTP\/1\.1 200 /);
        expect(answer).toContain('envoy_server_live');
      }
    },
  );

  test.each(Object.keys(ENVOY_CONFIGURATIONS))(
    'the port of the metrics of %s serves no other page, nor another spelling',
    async (name) => {
      const asked = [...PAGES, ...SPELT].flatMap((path) => [`GET ${path}`, `POST ${path}`]);
      const methods = ['POST', 'HEAD', 'PUT', 'OPTIONS', 'TRACE', 'CONNECT', 'get'];
      const lines = [...asked, ...methods.map((method) => `${method} ${METRICS_PATH}`)];
      const answers = await Promise.all(lines.map((line) => ask(name, line, 'Host: localhost:9901')));
      // A path that is none gets 400.
      const isRefused = (answer = '') =>
        /^HTTP\/1\.1 40[04] /.test(answer) && !/envoy_server|config|HELP/.test(answer);
      expect(lines.filter((_, index) => !isRefused(answers[index]))).toEqual([]);
      const headers =
        'Host: a\r\nx-envoy-original-path: /quitquitquit\r\n:path: /quitquitquit\r\nX-Original-URL: /config_dump';
      expect(await ask(name, 'GET /config_dump', headers)).toMatch(/^HTTP\/1\.1 40[04] /);
      expect((await fetch(`${proxies.get(name)?.url(9901)}/ready`)).status).toBe(200);
    },
  );

  test('who asks for the metrics of a sidecar without end gets 429, so its readiness has time', async () => {
    const answers = await Promise.all(times(30, () => ask('envoy.json', `GET ${METRICS_PATH}`)));
    expect(new Set(answers.map((answer) => answer.slice(9, 12)))).toEqual(new Set(['200', '429']));
  });
});
