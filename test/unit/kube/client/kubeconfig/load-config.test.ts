import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeUser } from '../../../../../src/kube/client/kubeconfig/kubeconfig-fields.ts';
import { loadKubeConfig } from '../../../../../src/kube/client/kubeconfig/load-config.ts';

let directory: string;
let kubeconfig: string;

const CONFIG = {
  clusters: [
    { name: 'here', cluster: { server: 'https://10.0.0.1:6443' } },
    { name: 'there', cluster: { server: 'https://10.0.0.2:6443' } },
  ],
  users: [{ name: 'me', user: { token: 'secret' } }],
  contexts: [{ name: 'now', context: { cluster: 'there', user: 'me' } }],
  'current-context': 'now',
};

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'load-config-'));
  kubeconfig = join(directory, 'config');
  await writeFile(kubeconfig, JSON.stringify(CONFIG));
});

afterEach(() => rm(directory, { recursive: true }));

test('the kubeconfig keeps its user when --master names another server', () => {
  const config = loadKubeConfig({ kubeconfig, master: 'https://127.0.0.1:8443' });
  expect(config.getCurrentCluster()?.server).toBe('https://127.0.0.1:8443');
  expect(config.getCurrentUser()?.token).toBe('secret');
});

test('the kubeconfig is refused without a current context', async () => {
  await writeFile(kubeconfig, JSON.stringify({ ...CONFIG, 'current-context': '' }));
  expect(() => loadKubeConfig({ kubeconfig, master: undefined })).toThrow(
    /config has no current context: set current-context, or use --context$/,
  );
});

test('the kubeconfig is refused by name when the file does not exist', () => {
  expect(() => loadKubeConfig({ kubeconfig: '/nowhere/config', master: undefined })).toThrow(
    'cannot read /nowhere/config: the file does not exist',
  );
  expect(() => loadKubeConfig({ kubeconfig: directory, master: undefined })).toThrow(
    `cannot read ${directory}: it is a directory`,
  );
});

const load = (environment: Record<string, string>, master?: string) =>
  loadKubeConfig({ kubeconfig: undefined, master, environment, serviceAccount: directory });
const POD = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

test('loadConfig merges the files of $KUBECONFIG in order, and skips missing ones', async () => {
  const first = join(directory, 'first');
  await writeFile(
    first,
    JSON.stringify({ ...CONFIG, clusters: [], users: [{ name: 'me', user: { token: 'first' } }] }),
  );
  const second = join(directory, 'second');
  await writeFile(second, JSON.stringify({ ...CONFIG, 'current-context': 'other' }));
  const config = load({ KUBECONFIG: ['/nowhere/config', first, second].join(':') });
  expect(config.getCurrentCluster()?.server).toBe('https://10.0.0.2:6443');
  expect(config.getCurrentUser()?.token).toBe('first');
});

test('loadConfig reads the kubeconfig of the home directory without a flag', async () => {
  await mkdir(join(directory, '.kube'));
  await writeFile(join(directory, '.kube', 'config'), JSON.stringify(CONFIG));
  expect(load({ HOME: directory, ...POD }).getCurrentCluster()?.server).toBe('https://10.0.0.2:6443');
});

test.each([
  ['10.96.0.1', 'https://10.96.0.1:443'],
  ['fd00::1', 'https://[fd00::1]:443'],
])(
  "loadConfig uses the service account of its pod, at the address %s, through the environment's proxy",
  async (host, server) => {
    await writeFile(join(directory, 'token'), 'secret');
    await writeFile(join(directory, 'ca.crt'), 'CA');
    await writeFile(join(directory, 'namespace'), 'mine\n');
    const config = load({ ...POD, KUBERNETES_SERVICE_HOST: host, HTTPS_PROXY: 'http://proxy' });
    expect(config.getCurrentCluster()).toMatchObject({
      server,
      caFile: join(directory, 'ca.crt'),
      proxyUrl: 'http://proxy/',
    });
    expect(config.getCurrentUser()).toMatchObject({ tokenFile: join(directory, 'token') });
    expect(config.getContextObject('current')?.namespace).toBe('mine');
  },
);

describe('flags of kubectl', () => {
  const config = {
    ...CONFIG,
    users: [...CONFIG.users, { name: 'other', user: { as: 'ann', 'as-groups': ['a'] } }],
    contexts: [
      ...CONFIG.contexts,
      { name: 'next', context: { cluster: 'here', user: 'other', namespace: 'web' } },
    ],
  };
  const load = (flags: object) => {
    const loaded = loadKubeConfig({ kubeconfig, master: undefined, ...flags });
    const { impersonateUser, impersonateGroups } = loaded.getCurrentUser() as KubeUser;
    return {
      server: loaded.getCurrentCluster()?.server,
      namespace: loaded.getContextObject(loaded.getCurrentContext())?.namespace,
      user: loaded.getCurrentUser()?.name,
      as: impersonateUser,
      groups: impersonateGroups,
    };
  };
  beforeEach(() => writeFile(kubeconfig, JSON.stringify(config)));

  test.each([
    [{ context: 'next' }, { server: 'https://10.0.0.1:6443', user: 'other', namespace: 'web', as: 'ann' }],
    [{ cluster: 'here' }, { server: 'https://10.0.0.1:6443', user: 'me' }],
    [{ user: 'other' }, { server: 'https://10.0.0.2:6443', user: 'other', as: 'ann', groups: ['a'] }],
    [{ as: 'bob' }, { user: 'me', as: 'bob' }],
    [
      { as: 'bob', asGroup: ['b', 'c'] },
      { user: 'me', as: 'bob', groups: ['b', 'c'] },
    ],
    [
      { user: 'other', asGroup: ['b'] },
      { as: 'ann', groups: ['b'] },
    ],
    // As in client-go, each flag replaces one field.
    [
      { user: 'other', as: 'bob' },
      { as: 'bob', groups: ['a'] },
    ],
  ])('the flags %j replace parts of the kubeconfig', (flags, expected) => {
    expect(load(flags)).toMatchObject(expected);
  });

  test('the flags --cluster and --user together need no context of the kubeconfig', async () => {
    await writeFile(kubeconfig, JSON.stringify({ ...config, 'current-context': '' }));
    expect(load({ cluster: 'here', user: 'me' })).toMatchObject({ server: 'https://10.0.0.1:6443' });
    expect(() => load({ cluster: 'here' })).toThrow('config has no current context');
  });

  test.each([
    [{ context: 'zz' }, 'config: --context is "zz", but the contexts are now, next'],
    [{ cluster: 'zz' }, 'config: --cluster is "zz", but the clusters are here, there'],
    [{ user: 'zz' }, 'config: --user is "zz", but the users are me, other'],
    [{ asGroup: ['a'] }, 'need a user to impersonate: set "as", or use --as'],
  ])('the flags %j that do not fit the kubeconfig are refused', (flags, message) => {
    expect(() => load(flags)).toThrow(message);
  });
});
