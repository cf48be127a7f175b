import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { load } from 'js-yaml';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { loadKubeConfig } from '../../../src/kube/client/kubeconfig/load-config.ts';
import { Transport } from '../../../src/kube/client/transport.ts';
import { systemClock } from '../../../src/kube/workqueue/clock.ts';
import { runCli } from '../../../src/program.ts';
import { findBinaries } from '../../env/control-plane/build.ts';
import type { ControlPlane } from '../../env/control-plane/control-plane.ts';
import { startControlPlane } from '../../env/control-plane/start.ts';
import { MemoryTerminal } from '../../support/cli/memory-terminal.ts';
import { ConnectProxy } from '../../support/kube/connect-proxy.ts';

let controlPlane: ControlPlane;
let directory: string;
let proxy: ConnectProxy;
/** Of the admin. */
let cluster: object;
let admin: object;
let token: string;

beforeAll(async () => {
  const { 'kube-controller-manager': _, ...binaries } = await findBinaries(process.env);
  controlPlane = await startControlPlane({ binaries });
  directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  const config = load(await readFile(controlPlane.kubeconfigPath, 'utf8')) as {
    clusters: [{ cluster: object }];
    users: [{ user: object }];
  };
  cluster = config.clusters[0].cluster;
  admin = config.users[0].user;
  await controlPlane.kubectl(['create', 'serviceaccount', 'robot']);
  token = (await controlPlane.kubectl(['create', 'token', 'robot'])).stdout.trim();
  await writeFile(join(directory, 'token'), `${token}\n`);
  // It believes that it was told of this very API server.
  await writeFile(
    join(directory, 'plugin'),
    `#!${process.execPath}
const { apiVersion, spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
const known = spec.cluster?.server === process.env.SERVER && spec.cluster.config.audience === 'a';
console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion, status: { token: known ? '${token}' : 'none' } }));
`,
  );
  await chmod(join(directory, 'plugin'), 0o755);
  proxy = await ConnectProxy.start();
});
afterAll(async () => {
  await proxy?.close();
  await controlPlane?.stop();
  if (directory) await rm(directory, { recursive: true });
});

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
}

async function write({ cluster: inCluster = {}, user }: Parts): Promise<string> {
  const file = join(directory, 'config');
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { ...cluster, ...inCluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(file, JSON.stringify(content));
  return file;
}

/** What the API server takes kubectl for; undefined where kubectl refuses the file. */
async function kubectlIs(kubeconfig: string): Promise<unknown> {
  const { code, stdout } = await controlPlane.kubectl([
    `--kubeconfig=${kubeconfig}`,
    'auth',
    'whoami',
    '-o',
    'json',
  ]);
  return code === 0 ? JSON.parse(stdout).status.userInfo : undefined;
}

/** What the API server takes the operator for. */
async function operatorIs(kubeconfig: string): Promise<unknown> {
  const transport = new Transport(loadKubeConfig({ kubeconfig, master: undefined }), systemClock);
  try {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const client = new KubeClient({ transport, clock: systemClock });
    const review = await client.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      body,
    });
    return (review as { status: { userInfo: unknown } }).status.userInfo;
  } finally {
    await transport.close();
  }
}

const plugin = (change: object = {}) => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: './plugin',
  args: [],
  env: [{ name: 'SERVER', value: controlPlane.server }],
  provideClusterInfo: true,
  interactiveMode: 'Never',
  ...change,
});
const told = { extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }] };
const ROBOT = { username: 'system:serviceaccount:default:robot' };

test.each<[string, () => Parts, object]>([
  ['by certificate', () => ({ user: admin }), { groups: expect.arrayContaining(['system:masters']) }],
  ['by token', () => ({ user: { token } }), ROBOT],
  ['by a file of a token', () => ({ user: { tokenFile: 'token' } }), ROBOT],
  ['by a file of a token beside a token', () => ({ user: { token: 'old', tokenFile: 'token' } }), ROBOT],
  [
    'as another, with an id, groups and extra fields',
    () => ({
      user: {
        ...admin,
        as: 'jürgen',
        'as-uid': '7',
        'as-groups': ['a', 'b c'],
        'as-user-extra': { 'example.com/Scope 100%': ['x', 'ÿ'] },
      },
    }),
    {
      username: 'jürgen',
      uid: '7',
      groups: ['a', 'b c', 'system:authenticated'],
      extra: { 'example.com/scope 100%': ['x', 'ÿ'] },
    },
  ],
  ['by a plugin that is told of the cluster', () => ({ cluster: told, user: { exec: plugin() } }), ROBOT],
  [
    'by a plugin of the former version',
    () => ({
      cluster: told,
      user: {
        exec: plugin({ apiVersion: 'client.authentication.k8s.io/v1beta1', interactiveMode: undefined }),
      },
    }),
    ROBOT,
  ],
  [
    'through a proxy',
    () => ({ cluster: { 'proxy-url': `http://127.0.0.1:${proxy.port}` }, user: { token } }),
    ROBOT,
  ],
])('the operator is to the API server who kubectl is: %s', async (_, parts, identity) => {
  const file = await write(parts());
  const kubectl = await kubectlIs(file);
  expect(await operatorIs(file)).toEqual(kubectl);
  expect(kubectl).toMatchObject(identity);
});

async function run(parts: Parts, ...args: readonly string[]) {
  const terminal = new MemoryTerminal({});
  const flags = ['--kubeconfig', await write({ user: admin, ...parts })];
  const code = await runCli(['node', 'envoy-initializer', ...args, ...flags], terminal);
  return { code, stderr: terminal.stderr };
}

test.each<[string, Parts, RegExp]>([
  [
    'a refused token',
    { user: { token: 'expired' } },
    /^error: the API server responded: Unauthorized: check the user in the kubeconfig, /,
  ],
  [
    'a certificate of another name',
    { cluster: { 'tls-server-name': 'elsewhere' } },
    /elsewhere.*: check server, certificate-authority and tls-server-name in the kubeconfig\n$/,
  ],
  [
    'a certificate of an unknown authority',
    { cluster: { 'certificate-authority-data': undefined } },
    /certificate: check server, certificate-authority and tls-server-name in the kubeconfig\n$/,
  ],
  [
    'a plugin that fails',
    {
      user: {
        exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'false', interactiveMode: 'Never' },
      },
    },
    /failed, exit code 1: check the user in the kubeconfig\n$/,
  ],
])('the command line says what to do about %s', async (_, parts, message) => {
  const { code, stderr } = await run(parts, 'drift');
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test.each<[readonly string[], RegExp]>([
  [['rollout'], /^error: ConfigMap envoy-initializer\/envoy-initializer does not exist: point /],
  [['rollout', 'pause', '--request-timeout=0'], /^error: ConfigMap .* does not exist/],
  [['check', 'network/web'], /^error: the cluster does not serve Networks: install the operator\n$/],
  [
    ['check', '--all', '-n', 'nowhere'],
    /^error: the API server responded: namespaces "nowhere" not found\n$/,
  ],
])('the command line says what to do without the operator: %j', async (args, message) => {
  const { code, stderr } = await run({}, ...args);
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test('the operator and kubectl ask the proxy of a kubeconfig for one tunnel each', () => {
  const { host } = new URL(controlPlane.server);
  expect(proxy.asked.map(({ target }) => target)).toEqual([host, host]);
});
