import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { checkRoute } from '../../../../../src/addons/routes/cli/check-route.ts';
import { checkRequest } from '../../../../../src/addons/routes/cli/check-routes.ts';
import { readPage, rowsOf, since } from '../../../../../src/addons/routes/cli/traffic-numbers.ts';
import { keysFor } from '../../../../../src/injection/keys.ts';
import type { KubeClient } from '../../../../../src/kube/client/client.ts';
import { runCli } from '../../../../../src/program.ts';
import type { JsonObject } from '../../../../../src/util/json.ts';
import { MemoryTerminal } from '../../../../support/cli/memory-terminal.ts';
import { KubeletPorts } from '../../../../support/cluster/kubelet-ports.ts';
import {
  DEMO_TEMPLATE,
  decideInput,
  podWith,
  STATUS,
  templateSet,
} from '../../../../support/injection/demo.ts';
import { injectChecked } from '../../../../support/injection/inject-checked.ts';
import { testAuthority } from '../../../../support/kube/test-authority.ts';
import { grpcRouteFor, routeFor, serviceAt } from '../../../../support/routing/routes.ts';

const series = (route: string, backend: string, code: string, count: number) => {
  const labels = `route="${route}",backend="${backend}",code="${code}",grpc_status=""`;
  return [
    `envoy_route_milliseconds_bucket{${labels},le="5"} ${count}`,
    `envoy_route_milliseconds_bucket{${labels},le="+Inf"} ${count}`,
    `envoy_route_milliseconds_count{${labels}} ${count}\n`,
  ].join('\n');
};
const PAGE = [
  series('shop/split rules[0]', 'shop/v1:80', '2xx', 900),
  series('shop/split rules[0]', 'shop/v2:80', '2xx', 67),
  series('shop/split rules[0]', 'shop/v2:80', '5xx', 33),
  series('other/web rules[0]', 'other/web:80', '2xx', 1),
  series('', '', '4xx', 2),
  'envoy_server_uptime{} 100\n',
].join('');
const pod = (name: string, volumes: readonly string[] = ['envoy-routes']) => ({
  metadata: {
    ...{ namespace: 'shop', name, uid: name },
    annotations: { [STATUS]: JSON.stringify({ version: 1, templates: [], added: { volumes } }) },
  },
  status: { phase: 'Running' },
});

describe('traffic', () => {
  let api: KubeletPorts;
  let envoy: Server;
  let silent: Server;
  let directory: string;

  beforeAll(async () => {
    const authority = await testAuthority();
    api = await KubeletPorts.start(authority);
    envoy = createServer((request, response) => {
      response.writeHead(request.url === '/stats/prometheus' ? 200 : 404).end(PAGE);
    });
    envoy.listen(0, '127.0.0.1');
    await once(envoy, 'listening');
    silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const portOf = (server: Server) => (server.address() as AddressInfo).port;
    // A port that refuses connections.
    api.portFor = (path, port) =>
      port !== 15090 || path.includes('/gone/') ? 1 : portOf(path.includes('/mute/') ? silent : envoy);
    const items = [
      pod('client'),
      pod('gone'),
      pod('server', []),
      { metadata: { namespace: 'shop', name: 'plain' } },
    ];
    const route = {
      metadata: { namespace: 'shop', name: 'split' },
      spec: { parentRefs: [{ group: '', kind: 'Service', name: 'app' }] },
    };
    for (const path of ['/api/v1/namespaces/shop/pods', '/api/v1/pods']) {
      api.objects.set(path, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items });
    }
    for (const each of [...items, pod('mute')])
      api.objects.set(`/api/v1/namespaces/shop/pods/${each.metadata.name}`, each);
    api.objects.set('/apis/gateway.networking.k8s.io/v1/httproutes', {
      metadata: { resourceVersion: '1' },
      items: [route],
    });
    directory = await mkdtemp(join(tmpdir(), 'envoy-initializer-traffic-'));
    const cluster = {
      server: `https://localhost:${api.port}`,
      'certificate-authority-data': btoa(authority.caPem),
    };
    await writeFile(
      join(directory, 'config'),
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user: { token: 't' } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
      }),
    );
  });

  afterAll(async () => {
    await api.close();
    for (const server of [envoy, silent]) server.close().closeAllConnections();
    await rm(directory, { recursive: true });
  });

  async function traffic(...args: readonly string[]) {
    const terminal = new MemoryTerminal();
    const argv = ['node', 'envoy-initializer', 'traffic', ...args, '--kubeconfig', join(directory, 'config')];
    const code = await runCli(argv, terminal);
    return { code, stdout: terminal.stdout, stderr: terminal.stderr };
  }

  test('traffic shows rows by route and backend, and which of the clients did not answer', async () => {
    const { code, stdout, stderr } = await traffic();
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ROUTE', 'BACKEND', 'REQUESTS', 'SUCCESS', 'RPS', 'P50', 'P95', 'P99'],
      ['<none>', '<none>', '2', '100.00%', '0.0', '2.5ms', '4.8ms', '5.0ms'],
      ['other/web rules[0]', 'other/web:80', '1', '100.00%', '0.0', '2.5ms', '4.8ms', '5.0ms'],
      ['shop/split rules[0]', 'shop/v1:80', '900', '100.00%', '9.0', '2.5ms', '4.8ms', '5.0ms'],
      ['shop/split rules[0]', 'shop/v2:80', '100', '67.00%', '1.0', '2.5ms', '4.8ms', '5.0ms'],
      [''],
    ]);
    expect(stderr).toMatch(/^no answer from pod shop\/gone: .+\n$/);
    expect(code).toBe(1);
  });

  test.each([
    ['svc/app', ['shop/v1:80', 'shop/v2:80']],
    ['svc/v2', ['shop/v2:80']],
    ['httproute/split', ['shop/v1:80', 'shop/v2:80']],
    ['httproute/spli', []],
    ['pod/client', ['', 'other/web:80', 'shop/v1:80', 'shop/v2:80']],
  ])('traffic of %s shows its rows', async (target, backends) => {
    const { stdout, code } = await traffic(...target.split('/'), '-o', 'json');
    const { rows, silent } = JSON.parse(stdout);
    expect(rows.map((row: { readonly backend: string }) => row.backend)).toEqual(backends);
    expect(silent.length).toBe(target === 'pod/client' ? 0 : 1);
    expect(code).toBe(silent.length);
  });

  test('traffic --watch compares a client that missed an interval with its last answer', async () => {
    const portFor = api.portFor;
    let asked = 0;
    api.portFor = (path, port) => (path.includes('/client/') && ++asked === 2 ? 1 : portFor('', port));
    const shown: unknown[] = [];
    const end = new Error('two intervals were shown');
    const terminal = new MemoryTerminal();
    terminal.out = (text) => {
      shown.push(JSON.parse(text).rows);
      if (shown.length === 2) throw end;
    };
    const argv = ['traffic', '--watch', '1', '-o', 'json', '--kubeconfig', join(directory, 'config')];
    await runCli(['node', 'envoy-initializer', ...argv], terminal).catch((error) => expect(error).toBe(end));
    api.portFor = portFor;
    expect(shown).toEqual([[], []]);
  });

  test('traffic does not wait for a client that takes the question and does not answer', async () => {
    const { stdout, stderr, code } = await traffic('pod/mute', '-o', 'json');
    expect(JSON.parse(stdout)).toEqual({ rows: [], silent: [{ pod: 'shop/mute', why: expect.any(String) }] });
    expect(stderr).toMatch(/no answer from pod shop\/mute: .*3/);
    expect(code).toBe(1);
  });

  test.each([
    [['pod/server'], 'pod/server has no sidecar that follows routes'],
    [['web/server'], 'unknown kind "web"'],
    [['svc/'], '"svc/" is not a target'],
    [['svc/a/b'], '"svc/a/b" is not a target'],
    [['svc', 'a', 'b'], "unexpected argument 'b'"],
    [['../x'], 'unknown kind ".."'],
    [['--watch', '0'], 'Use a number of seconds such as 10.'],
  ])('traffic refuses %j', async (args, message) => {
    const { stderr, code } = await traffic(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

/** A page with the buckets 10 and 100, of which `slow` requests are in the second one and `slower` in none. */
function page(
  counts: Readonly<Record<string, number>>,
  { uptime = 100, slow = 0, slower = 0, name = 'route="shop/web rules[0]",backend="shop/v1:80"' } = {},
): string {
  const lines = Object.entries(counts).flatMap(([tags, count]) => {
    const labels = `${name},code="${tags.split('/')[0]}",grpc_status="${tags.split('/')[1] ?? ''}"`;
    const within = [count - slow - slower, count - slower];
    return [
      ...[10, 100].map((le, i) => `envoy_route_milliseconds_bucket{${labels},le="${le}"} ${within[i]}`),
      `envoy_route_milliseconds_bucket{${labels},le="+Inf"} ${count}`,
      `envoy_route_milliseconds_count{${labels}} ${count}`,
    ];
  });
  return [...lines, `envoy_server_uptime{} ${uptime}`, ''].join('\n');
}
const row = (...pages: readonly string[]) => rowsOf(pages.map(readPage))[0];

test.each<[string, Readonly<Record<string, number>>, number]>([
  ['all answers but 5xx', { '2xx': 90, '3xx': 2, '4xx': 3, '5xx': 5 }, 0.95],
  ['no request without an answer', { '2xx': 3, xx: 1 }, 0.75],
  ['no fault of gRPC, whose code is 200', { '2xx/0': 1, '2xx/5': 1, '2xx/14': 1, '2xx/2': 1 }, 0.5],
])('a row of traffic counts as success %s', (_, counts, success) => {
  expect(row(page(counts))).toMatchObject({ success, route: 'shop/web rules[0]', backend: 'shop/v1:80' });
});

test('a row of traffic adds up several sidecars, and the rate of each since it started', () => {
  const sum = row(page({ '2xx': 100 }), page({ '5xx': 100 }, { uptime: 10 }));
  expect(sum).toMatchObject({ requests: 200, success: 0.5, rps: 11, clients: 2 });
});

test('a row of traffic has percentiles, evenly spread in a bucket, and infinite ones beyond the last', () => {
  expect(row(page({ '2xx': 100 }, { slow: 50 }))).toMatchObject({ p50: 10, p95: 91, p99: 98.2 });
  expect(row(page({ '2xx': 100 }, { slower: 2 }))).toMatchObject({ p99: Number.POSITIVE_INFINITY });
  expect(row(page({ '2xx': 50, '5xx': 50 }, { slow: 25 }))).toMatchObject({ p50: 10, requests: 100 });
});

test('a row of traffic is there for each rule and backend with requests, in their order', () => {
  const pages = [page({ '2xx': 1 }, { name: 'route="b",backend="x"' }), page({ '2xx': 0 })];
  const rows = rowsOf([...pages, page({ '4xx': 2 }, { name: 'route="",backend=""' })].map(readPage));
  expect(rows.map(({ route, requests }) => [route, requests])).toEqual([
    ['', 2],
    ['b', 1],
  ]);
});

const between = (before: string, now: string) => rowsOf([since(readPage(now), readPage(before))])[0];

test('traffic since an earlier reading is the difference, of the percentiles, too', () => {
  const now = page({ '2xx': 130 }, { uptime: 110, slow: 20 });
  expect(between(page({ '2xx': 100 }), now)).toMatchObject({
    requests: 30,
    rps: 3,
    success: 1,
    p95: 93.25,
  });
  expect(between(now, now)).toBeUndefined();
});

test('traffic since an earlier reading is all of a sidecar that has started again', () => {
  const restarted = page({ '2xx': 200 }, { uptime: 2 });
  expect(between(page({ '2xx': 100 }), restarted)).toMatchObject({ requests: 200, rps: 100 });
});

const set = templateSet({ config: readFileSync('deploy/transparent/template.yaml', 'utf8') });
const app = (name: string, runAsUser = 5) => ({ name, image: 'i', securityContext: { runAsUser } });

const listing = (items: Readonly<Record<string, readonly object[]>>) => ({
  list: async ({ plural }: { readonly plural: string }) => ({ metadata: {}, items: items[plural] ?? [] }),
});

function check(spec: JsonObject, annotations: JsonObject = {}, templates = set, items = {}) {
  const key = 'initializer.kubernetes.io/envoy';
  const given = podWith(spec, { annotations: { [key]: 'true', ...annotations } });
  const { pod } = injectChecked(decideInput(given, { state: { set: templates } }));
  return checkPod(pod, items);
}

function checkPod(pod: JsonObject, items = {}) {
  const client = { get: async () => pod, ...listing(items) } as unknown as KubeClient;
  const request = { to: new URL('http://web/'), method: 'GET', headers: [] };
  return checkRequest(client, 'default', 'a', request, keysFor());
}

test('a pod without a sidecar, or with one that captures nothing, follows no routes', async () => {
  const spec = { containers: [app('b')] };
  expect((await checkPod(podWith(spec))).findings).toMatchObject([{ reason: 'no-sidecar' }]);
  const { findings } = await check(spec, {}, templateSet({ config: DEMO_TEMPLATE }));
  expect(findings).toMatchObject([{ reason: 'no-capture' }]);
});

// As capture.sh reads the list.
test.each(['80', '22, 80', '22 80'])('the ports %j, excluded from a sidecar, bypass it', async (ports) => {
  const key = 'initializer.kubernetes.io/envoy-exclude-outbound-ports';
  const { findings } = await check({ containers: [app('b')] }, { [key]: ports });
  expect(findings).toEqual([expect.objectContaining({ reason: 'excluded-port' })]);
});

test('a request of a pod has what is wrong with its rule as a finding, not that of others', async () => {
  const toService = (name: string) => ({ backendRefs: [{ name, port: 80 }] });
  const matches = [{ path: { type: 'Exact' as const, value: '/other' } }];
  const rules = [{ matches, ...toService('lost') }, toService('gone')];
  const items = {
    httproutes: [routeFor('default/r', 'default/web', rules)],
    services: [serviceAt('default/web', '10.96.0.7')],
  };
  const { findings } = await check({ containers: [app('b')] }, {}, set, items);
  expect(findings.filter(({ reason }) => reason !== 'routes-behind')).toEqual([
    { reason: 'BackendNotFound', message: 'rules[1].backendRefs[0]: Service default/gone does not exist' },
  ]);
});

test('an HTTPRoute says which GRPCRoute comes before it, and a GRPCRoute is checked by its own name', async () => {
  const backendRefs = [{ name: 'web', port: 80 }];
  const items: Readonly<Record<string, readonly object[]>> = {
    httproutes: [routeFor('shop/r', 'shop/web', [{ backendRefs }])],
    services: [serviceAt('shop/web', '10.96.0.7')],
    grpcroutes: [grpcRouteFor('shop/r', 'shop/web', [{ backendRefs: [{ name: 'gone', port: 80 }] }])],
  };
  const client = listing(items) as unknown as KubeClient;
  const object = { namespace: 'shop', name: 'r' };
  expect((await checkRoute(client, 'HTTPRoute', object)).findings).toContainEqual({
    reason: 'Conflicted',
    message: 'parentRefs: GRPCRoute shop/r applies to Service shop/web port 80, and overrides HTTPRoutes',
  });
  const report = await checkRoute(client, 'GRPCRoute', object);
  expect(report.object).toBe('grpcroute/r');
  expect(report.findings.map(({ reason }) => reason)).toEqual(['BackendNotFound']);
});
