import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Credential, Credentials } from '../../../../../src/kube/client/credentials.ts';
import { loadKubeConfig } from '../../../../../src/kube/client/kubeconfig/load-config.ts';
import { FakeClock } from '../../../../support/time/fake-clock.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  await write('pem', 'content');
  await write('token', 'of the file\n');
  await write('plugin', '#!/bin/sh\necho "$PRINT"\n');
});
afterEach(() => rm(directory, { recursive: true }));

/** Writes a file with this content, and resolves with its path. */
async function write(name: string, content: string | object): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** What the operator makes of a kubeconfig with these fields. */
async function load(
  cluster: object,
  user: object,
  environment: Record<string, string> = {},
): Promise<KubeConfig> {
  const kubeconfig = await write('config', {
    clusters: [{ name: 'there', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'me', user }],
    contexts: [{ name: 'now', context: { cluster: 'there', user: 'me' } }],
    'current-context': 'now',
  });
  return loadKubeConfig({ kubeconfig, master: undefined, environment });
}

/** What a request is sent with. */
async function credential(cluster: object, user: object): Promise<Credential> {
  return await new Credentials(await load(cluster, user), new FakeClock()).get();
}

const DATA = btoa('data');
const PLUGIN = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'sh',
  args: ['-c', 'echo "$PRINT"'],
  env: [
    { name: 'PRINT', value: '{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"plugged"}}' },
  ],
  provideClusterInfo: true,
  interactiveMode: 'Never',
  installHint: 'install a shell',
};

const CERT_AND_KEY = { cert: Buffer.from('data'), key: Buffer.from('content') };
/** Every field that client-go v0.36 has (tools/clientcmd/api/v1/types.go), and its effect here. */
const USER_FIELDS: Record<string, readonly [object, object]> = {
  'client-certificate': [
    { 'client-certificate': 'pem', 'client-key-data': DATA },
    { tls: { cert: Buffer.from('content'), key: Buffer.from('data') } },
  ],
  'client-certificate-data': [
    { 'client-certificate-data': DATA, 'client-key': 'pem' },
    { tls: CERT_AND_KEY },
  ],
  'client-key': [{ 'client-certificate-data': DATA, 'client-key': 'pem' }, { tls: CERT_AND_KEY }],
  'client-key-data': [
    { 'client-certificate': 'pem', 'client-key-data': DATA },
    { tls: { cert: Buffer.from('content'), key: Buffer.from('data') } },
  ],
  token: [{ token: 'plain' }, { headers: { Authorization: 'Bearer plain' } }],
  tokenFile: [{ tokenFile: 'token', token: 'plain' }, { headers: { Authorization: 'Bearer of the file' } }],
  as: [{ as: 'jürgen' }, { headers: { 'Impersonate-User': ['jÃ¼rgen'] } }],
  'as-uid': [{ as: 'you', 'as-uid': '7' }, { headers: { 'Impersonate-Uid': ['7'] } }],
  'as-groups': [{ as: 'you', 'as-groups': ['a', 'b'] }, { headers: { 'Impersonate-Group': ['a', 'b'] } }],
  'as-user-extra': [
    { as: 'you', 'as-user-extra': { 'example.com/scope 100%': ['x', 'y'] } },
    { headers: { 'Impersonate-Extra-example.com%2Fscope%20100%25': ['x', 'y'] } },
  ],
  username: [{ username: 'me' }, { headers: { Authorization: `Basic ${btoa('me:')}` } }],
  password: [{ username: 'me', password: 'p' }, { headers: { Authorization: `Basic ${btoa('me:p')}` } }],
  'auth-provider': [
    { 'auth-provider': { name: 'oidc', config: { 'id-token': 't.o.k' } } },
    { headers: { Authorization: `Bearer ${'t.o.k'}` } },
  ],
  exec: [{ exec: PLUGIN }, { headers: { Authorization: 'Bearer plugged' } }],
  extensions: [{ extensions: [{ name: 'other', extension: {} }] }, { headers: {} }],
};

const CLUSTER_FIELDS: Record<string, readonly [object, object]> = {
  server: [{ server: 'https://10.0.0.2/base/' }, { cluster: { server: 'https://10.0.0.2/base' } }],
  'tls-server-name': [{ 'tls-server-name': 'api' }, { tls: { servername: 'api' } }],
  'insecure-skip-tls-verify': [{ 'insecure-skip-tls-verify': true }, { tls: { rejectUnauthorized: false } }],
  'certificate-authority': [{ 'certificate-authority': 'pem' }, { tls: { ca: Buffer.from('content') } }],
  'certificate-authority-data': [
    { 'certificate-authority-data': DATA },
    { tls: { ca: Buffer.from('data') } },
  ],
  'proxy-url': [{ 'proxy-url': 'http://proxy:3128' }, { cluster: { proxyUrl: 'http://proxy:3128' } }],
  'disable-compression': [{ 'disable-compression': true }, { tls: {} }],
  extensions: [
    { extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }] },
    { tls: {} },
  ],
};

test.each(Object.entries(USER_FIELDS))(
  'a kubeconfig does what client-go does with the user’s %s',
  async (_, [user, effect]) => {
    expect(await credential({}, user)).toMatchObject(effect);
  },
);

test.each(Object.entries(CLUSTER_FIELDS))(
  'a kubeconfig does what client-go does with the cluster’s %s',
  async (_, [cluster, effect]) => {
    const { tls } = await credential(cluster, {});
    const loaded = await load(cluster, {});
    expect({ tls, cluster: loaded.getCurrentCluster() }).toMatchObject(effect);
  },
);

test('a kubeconfig runs a plugin in its own directory', async () => {
  await chmod(`${directory}/plugin`, 0o755);
  const exec = { ...PLUGIN, command: './plugin' };
  expect((await credential({}, { exec })).headers).toEqual({ Authorization: 'Bearer plugged' });
});

test('a kubeconfig runs no plugin when it holds a token itself', async () => {
  const { headers } = await credential({}, { token: 'plain', exec: { ...PLUGIN, command: 'nowhere' } });
  expect(headers).toEqual({ Authorization: 'Bearer plain' });
});

const exec = (change: object) => ({ exec: { ...PLUGIN, ...change } });
const ca = { 'certificate-authority-data': DATA };
test.each<[string, object, object, string]>([
  ['a token of two lines', {}, { token: 'a\nb' }, 'user "me": token: expected one line without spaces'],
  ['a token and a username', {}, { token: 't', username: 'u' }, 'token and username cannot be used together'],
  ['groups and no user', {}, { 'as-groups': ['g'] }, 'need a user to impersonate: set "as", or use --as'],
  ['groups that are none', {}, { as: 'u', 'as-groups': [7] }, 'as-groups: expected a list of strings'],
  ['a removed provider', {}, { 'auth-provider': { name: 'gcp' } }, 'expected oidc, got "gcp": use exec'],
  ['a plugin of an old version', {}, exec({ apiVersion: 'v1alpha1' }), 'exec.apiVersion: expected client.'],
  ['a plugin without a command', {}, exec({ command: '' }), 'exec.command: expected a command, got none'],
  ['a plugin with a terminal', {}, exec({ interactiveMode: 'Always' }), 'plugins have no terminal here'],
  ['an unknown field', {}, { 'token-file': 't' }, 'unknown field "token-file": did you mean tokenFile?'],
  ['a value of another type', {}, { token: 7 }, 'user "me".token: expected a value of type string'],
  ['an authority and none', { ...ca, 'insecure-skip-tls-verify': true }, {}, 'cannot be used together'],
  ['two authorities', { ...ca, 'certificate-authority': 'pem' }, {}, 'cannot be used together: remove one'],
  ['a SOCKS proxy', { 'proxy-url': 'socks5://127.0.0.1:9' }, {}, 'an http or https proxy, got socks5://'],
  ['http', { server: 'http://10.0.0.1' }, {}, 'got "http://10.0.0.1": http needs insecure-skip-tls-verify'],
  ['no server', { server: '' }, {}, 'expected an https URL for the API server, got ""'],
  [
    'http behind a proxy',
    { server: 'http://10.0.0.1', 'insecure-skip-tls-verify': true, 'proxy-url': 'http://me:secret@proxy' },
    {},
    'the API server http://10.0.0.1 needs https behind a proxy (http://proxy)',
  ],
])('a kubeconfig is refused, with one line, for %s', async (_, cluster, user, message) => {
  const error: unknown = await load(cluster, user).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain('\n');
});

const environment = { HTTPS_PROXY: 'http://of-environment:3128', NO_PROXY: '10.1.0.0/16' };
test.each<[string, object, string | undefined]>([
  ['of the environment is used', {}, 'http://of-environment:3128/'],
  ['of the kubeconfig takes precedence', { 'proxy-url': 'http://own:1' }, 'http://own:1'],
  ['of the environment is not used for a server in NO_PROXY', { server: 'https://10.1.2.3' }, undefined],
  [
    'of the kubeconfig is used regardless of NO_PROXY',
    { server: 'https://10.1.2.3', 'proxy-url': 'http://own:1' },
    'http://own:1',
  ],
])('the proxy %s', async (_, cluster, proxyUrl) => {
  const config = await load(cluster, {}, environment);
  expect(config.getCurrentCluster()?.proxyUrl).toBe(proxyUrl);
});
