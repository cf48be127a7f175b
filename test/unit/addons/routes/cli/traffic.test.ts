import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCli } from '../../../../../src/program.ts';
import { MemoryTerminal } from '../../../../support/cli/memory-terminal.ts';
import { KubeletPorts } from '../../../../support/cluster/kubelet-ports.ts';
import { STATUS } from '../../../../support/injection/demo.ts';
import { testAuthority } from '../../../../support/kube/test-authority.ts';

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

  test('shows rows by route and backend, and which of the clients did not answer', async () => {
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
  ])('of %s shows its rows', async (target, backends) => {
    const { stdout, code } = await traffic(...target.split('/'), '-o', 'json');
    const { rows, silent } = JSON.parse(stdout);
    expect(rows.map((row: { readonly backend: string }) => row.backend)).toEqual(backends);
    expect(silent.length).toBe(target === 'pod/client' ? 0 : 1);
    expect(code).toBe(silent.length);
  });

  test('does not wait for a client that takes the question and does not answer', async () => {
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
  ])('refuses %j', async (args, message) => {
    const { stderr, code } = await traffic(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
