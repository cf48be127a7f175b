import { chmod } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KubeconfigFolder } from '../../../../support/kube/kubeconfig-folder.ts';

let folder: KubeconfigFolder;
beforeEach(async () => {
  folder = await KubeconfigFolder.make();
  await folder.write('pem', 'content');
  await folder.write('token', 'of the file\n');
  await folder.write('plugin', '#!/bin/sh\necho "$PRINT"\n');
});
afterEach(() => folder.remove());

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

/** Every field that client-go v0.36 has (tools/clientcmd/api/v1/types.go), and its effect here. */
type UserField =
  | 'client-certificate'
  | 'client-certificate-data'
  | 'client-key'
  | 'client-key-data'
  | 'token'
  | 'tokenFile'
  | 'as'
  | 'as-uid'
  | 'as-groups'
  | 'as-user-extra'
  | 'username'
  | 'password'
  | 'auth-provider'
  | 'exec'
  | 'extensions';
type ClusterField =
  | 'server'
  | 'tls-server-name'
  | 'insecure-skip-tls-verify'
  | 'certificate-authority'
  | 'certificate-authority-data'
  | 'proxy-url'
  | 'disable-compression'
  | 'extensions';

const CERT_AND_KEY = { cert: Buffer.from('data'), key: Buffer.from('content') };
const USER_FIELDS: Record<UserField, readonly [object, object]> = {
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
    { 'auth-provider': { name: 'oidc', config: { 'id-token': openIdToken() } } },
    { headers: { Authorization: `Bearer ${openIdToken()}` } },
  ],
  exec: [{ exec: PLUGIN }, { headers: { Authorization: 'Bearer plugged' } }],
  extensions: [{ extensions: [{ name: 'other', extension: {} }] }, { headers: {} }],
};

const CLUSTER_FIELDS: Record<ClusterField, readonly [object, object]> = {
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

/** A credential whose expiry is far in the future. */
function openIdToken(exp = 4e9): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ exp })}.x`;
}

describe('a kubeconfig', () => {
  test.each(Object.entries(USER_FIELDS))(
    'does what client-go does with the user’s %s',
    async (_, [user, effect]) => {
      expect(await folder.credential({}, user)).toMatchObject(effect);
    },
  );

  test.each(Object.entries(CLUSTER_FIELDS))(
    'does what client-go does with the cluster’s %s',
    async (_, [cluster, effect]) => {
      const { tls } = await folder.credential(cluster, {});
      const loaded = await folder.load(cluster, {});
      expect({ tls, cluster: loaded.getCurrentCluster() }).toMatchObject(effect);
    },
  );

  test('runs a plugin in its own directory', async () => {
    await chmod(`${folder.path}/plugin`, 0o755);
    const exec = { ...PLUGIN, command: './plugin' };
    expect((await folder.credential({}, { exec })).headers).toEqual({ Authorization: 'Bearer plugged' });
  });

  test('runs no plugin when it holds a token itself', async () => {
    const { headers } = await folder.credential(
      {},
      { token: 'plain', exec: { ...PLUGIN, command: 'nowhere' } },
    );
    expect(headers).toEqual({ Authorization: 'Bearer plain' });
  });

  test('uses the token when the token file cannot be read', async () => {
    await folder.write('token', '');
    const { headers } = await folder.credential({}, { token: 'plain', tokenFile: 'token' });
    expect(headers).toEqual({ Authorization: 'Bearer plain' });
  });
});

// A refresh token often works once, and kubectl needs the next one.
test.each([
  [{ 'id-token': openIdToken(1e9), 'refresh-token': 'r' }, 'has an id-token that has expired'],
  [{}, 'has no id-token'],
])('an ID token is renewed by kubectl alone: %j', async (config, problem) => {
  const user = { 'auth-provider': { name: 'oidc', config } };
  await expect(folder.credential({}, user)).rejects.toThrow(
    `the auth-provider oidc ${problem}: run any command`,
  );
});

test.each(['opaque', 'a.b.c', `a.${btoa('[]')}.c`])('the server judges the ID token %s', async (token) => {
  const user = { 'auth-provider': { name: 'oidc', config: { 'id-token': token } } };
  expect(await folder.credential({}, user)).toMatchObject({ headers: { Authorization: `Bearer ${token}` } });
});

describe('a kubeconfig is refused, with one line,', () => {
  const exec = (change: object) => ({ exec: { ...PLUGIN, ...change } });
  const ca = { 'certificate-authority-data': DATA };
  test.each<[string, object, object, string]>([
    [
      'with a token of two lines',
      {},
      { token: 'a\nb' },
      'user "me": token: expected one line without spaces',
    ],
    [
      'with a certificate file that does not exist',
      { 'certificate-authority-data': undefined, 'certificate-authority': 'nowhere.pem' },
      {},
      'nowhere.pem: the file does not exist',
    ],
    [
      'with a token and a username',
      {},
      { token: 't', username: 'u' },
      'user "me": token and username cannot be used together: remove one',
    ],
    [
      'with a certificate alone',
      {},
      { 'client-certificate': 'pem' },
      'user "me": client-certificate needs client-key or client-key-data',
    ],
    ['with a key alone', {}, { 'client-key': 'pem' }, 'user "me": client-key needs client-certificate'],
    [
      'with two certificates',
      {},
      { 'client-certificate': 'pem', 'client-certificate-data': DATA, 'client-key': 'pem' },
      'client-certificate and client-certificate-data cannot be used together: remove one',
    ],
    [
      'with two keys',
      {},
      { 'client-certificate': 'pem', 'client-key-data': DATA, 'client-key': 'pem' },
      'client-key and client-key-data cannot be used together: remove one',
    ],
    [
      'with impersonated groups and no user',
      {},
      { 'as-groups': ['g'] },
      'user "me": as-groups needs as: add it',
    ],
    [
      'with a removed provider',
      {},
      { 'auth-provider': { name: 'gcp' } },
      'Kubernetes has removed gcp: use exec with gke-gcloud-auth-plugin',
    ],
    [
      'with another removed provider',
      {},
      { 'auth-provider': { name: 'azure' } },
      'Kubernetes has removed azure: use exec with kubelogin',
    ],
    [
      'with an unknown provider',
      {},
      { 'auth-provider': { name: 'x' } },
      'auth-provider: expected oidc, got "x": use exec with a plugin',
    ],
    [
      'with a plugin and a provider',
      {},
      { ...exec({}), 'auth-provider': { name: 'oidc' } },
      'exec and auth-provider cannot be used together: remove one',
    ],
    [
      'with a plugin of an old version',
      {},
      exec({ apiVersion: 'client.authentication.k8s.io/v1alpha1' }),
      'exec.apiVersion: expected client.authentication.k8s.io/v1 or',
    ],
    [
      'with a plugin without a command',
      {},
      exec({ command: '' }),
      'exec.command: expected a command, got none',
    ],
    [
      'with a plugin without an interactiveMode',
      {},
      exec({ interactiveMode: undefined }),
      'exec.interactiveMode: expected Never, IfAvailable, Always, got none',
    ],
    [
      'with a plugin with an unknown interactiveMode',
      {},
      exec({ interactiveMode: 'x' }),
      'expected Never, IfAvailable, Always, got x',
    ],
    [
      'with a variable without a name',
      {},
      exec({ env: [{ value: 'x' }] }),
      'exec.env: expected a name for each variable, got none',
    ],
    ['with a file that is not there', {}, { tokenFile: 'nowhere' }, 'nowhere: the file does not exist'],
    [
      'with an unknown field of the user',
      {},
      { 'token-file': 'token' },
      'user "me": unknown field "token-file": did you mean tokenFile?',
    ],
    [
      'with an unknown field of the cluster',
      { 'certificate-authorityData': DATA },
      {},
      'cluster "there": unknown field "certificate-authorityData"',
    ],
    ['with a value of another type', {}, { token: 7 }, 'user "me".token: expected a string'],
    [
      'with an authority and insecure-skip-tls-verify',
      { ...ca, 'insecure-skip-tls-verify': true },
      {},
      'insecure-skip-tls-verify and certificate-authority-data cannot be used together: remove one',
    ],
    [
      'with two authorities',
      { ...ca, 'certificate-authority': 'pem' },
      {},
      'certificate-authority and certificate-authority-data cannot be used together: remove one',
    ],
    [
      'with a SOCKS proxy',
      { 'proxy-url': 'socks5://127.0.0.1:9' },
      {},
      'proxy-url: expected an http or https proxy, got socks5: use another',
    ],
    [
      'with a server by http',
      { server: 'http://10.0.0.1' },
      {},
      'got "http://10.0.0.1": set insecure-skip-tls-verify to use http',
    ],
    ['without a server', { server: '' }, {}, 'expected an https URL for the API server, got ""'],
    [
      'with a server by http behind a proxy',
      { server: 'http://10.0.0.1', 'insecure-skip-tls-verify': true, 'proxy-url': 'http://me:secret@proxy' },
      {},
      'the API server http://10.0.0.1 is behind a proxy (http://proxy): use https',
    ],
  ])('%s', async (_, cluster, user, message) => {
    const error: unknown = await folder.load(cluster, user).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('\n');
  });
});

describe('the proxy', () => {
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
  ])('%s', async (_, cluster, proxyUrl) => {
    const config = await folder.load(cluster, {}, environment);
    expect(config.getCurrentCluster()?.proxyUrl).toBe(proxyUrl);
  });
});
