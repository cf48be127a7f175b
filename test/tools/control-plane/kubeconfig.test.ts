import { expect, test } from '@jest/globals';
import { KubeConfig } from '@kubernetes/client-node';
import { renderKubeconfig } from '../../env/control-plane/kubeconfig.ts';

const base = { name: 'test', server: 'https://127.0.0.1:1234', caPem: 'the authority\n' };

function load(yaml: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(yaml);
  return config;
}

function decode(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString();
}

test('a kubeconfig names its server, the authority and a user by certificate, in the current context', () => {
  const config = load(renderKubeconfig({ ...base, user: { certPem: 'certificate\n', keyPem: 'key\n' } }));
  expect(config.getCurrentContext()).toBe('test');
  expect(config.getCurrentCluster()?.server).toBe('https://127.0.0.1:1234');
  expect(config.getCurrentCluster()?.skipTLSVerify).toBe(false);
  expect(decode(config.getCurrentCluster()?.caData)).toBe('the authority\n');
  expect(decode(config.getCurrentUser()?.certData)).toBe('certificate\n');
  expect(decode(config.getCurrentUser()?.keyData)).toBe('key\n');
});

test('a kubeconfig may have a user by token', () => {
  const config = load(renderKubeconfig({ ...base, user: { token: 'a.b.c' } }));
  expect(config.getCurrentUser()?.token).toBe('a.b.c');
  expect(config.getCurrentUser()?.certData).toBeUndefined();
});
