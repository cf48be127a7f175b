import { describe, expect, test } from '@jest/globals';
import { type Plugin, runPlugin } from '../../../../../src/kube/client/kubeconfig/exec-plugin.ts';
import { execConfig } from '../../../../support/kube/exec-config.ts';

const CLUSTER = {
  server: 'https://10.0.0.1:6443',
  'certificate-authority-data': 'Q0E=',
  'tls-server-name': 'api',
  'proxy-url': 'http://proxy:3128',
  'disable-compression': true,
  extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
};

function run(script: string, plugin: Partial<Plugin> = {}) {
  return runPlugin(execConfig(script, plugin), new AbortController().signal);
}

/** A plugin that prints this status. */
const answers = (status: object, apiVersion = 'client.authentication.k8s.io/v1') =>
  `console.log(${JSON.stringify(JSON.stringify({ kind: 'ExecCredential', apiVersion, status }))})`;

/** A plugin that returns its input as its token. */
const TELLS =
  "console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', status: { token: process.env.KUBERNETES_EXEC_INFO } }))";

describe('a credential plugin', () => {
  test('gets the version of the protocol, and interactive as false', async () => {
    const { token = '' } = await run(TELLS);
    expect(JSON.parse(token)).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: { interactive: false },
    });
  });

  test('gets the cluster if provideClusterInfo is set', async () => {
    const { token = '' } = await run(TELLS, { cluster: CLUSTER });
    expect(JSON.parse(token).spec.cluster).toEqual({
      server: 'https://10.0.0.1:6443',
      'tls-server-name': 'api',
      'certificate-authority-data': 'Q0E=',
      'proxy-url': 'http://proxy:3128',
      'disable-compression': true,
      config: { audience: 'a' },
    });
  });

  test('has the environment of the operator, and its own variables', async () => {
    const script =
      "console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', status: { token: process.env.PATH + process.env.OWN } }))";
    expect(await run(script, { env: { OWN: '!' } })).toMatchObject({ token: `${process.env.PATH}!` });
  });

  test.each([
    [{ token: 't' }, { token: 't', expiresAt: Number.POSITIVE_INFINITY }],
    [
      { token: 't', expirationTimestamp: '2030-01-01T00:00:00Z' },
      { token: 't', expiresAt: Date.UTC(2030, 0, 1) },
    ],
    [
      { clientCertificateData: 'c', clientKeyData: 'k' },
      { cert: 'c', key: 'k', expiresAt: Number.POSITIVE_INFINITY },
    ],
  ])('returns %j', async (status, credential) => {
    expect(await run(answers(status))).toEqual(credential);
  });

  test.each<[string, string, Partial<Plugin>, string]>([
    ['returns nothing', answers({}), {}, 'returned neither a token nor a client certificate'],
    [
      'returns half of a key pair',
      answers({ token: 't', clientKeyData: 'k' }),
      {},
      'returned only one of certificate and key: expected both',
    ],
    [
      'returns an invalid date',
      answers({ token: 't', expirationTimestamp: 'soon' }),
      {},
      'returned the expirationTimestamp soon: expected RFC 3339',
    ],
    [
      'prints another version',
      answers({ token: 't' }, 'client.authentication.k8s.io/v1beta1'),
      {},
      'printed the apiVersion client.authentication.k8s.io/v1beta1: expected',
    ],
    ['prints no JSON', 'console.log("secret")', {}, 'printed no JSON object: expected an ExecCredential'],
    [
      'fails',
      'console.error("one\\nlog in first"); process.exit(3)',
      {},
      'failed with exit code 3: log in first',
    ],
    [
      'needs a terminal',
      '',
      { interactiveMode: 'Always' },
      'needs a terminal (interactiveMode Always): run it in one',
    ],
    [
      'is missing',
      '',
      { command: 'nowhere', installHint: 'get it there\n' },
      'nowhere is not installed: get it there',
    ],
    ['is no program', '', { command: '/etc/passwd' }, '/etc/passwd cannot be run: spawn /etc/passwd EACCES'],
    ['is missing, without a hint', '', { command: '/nowhere/plugin' }, '/nowhere/plugin is not installed'],
  ])('that %s fails with an error that names it', async (_, script, exec, message) => {
    const error: unknown = await run(script, exec).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(`the credential plugin ${exec.command ?? process.execPath} `);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('secret');
  });
});
