import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadKubeConfig } from '../../../src/kube/load-config.ts';

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

afterEach(async () => {
  await rm(directory, { recursive: true });
});

describe('the kubeconfig', () => {
  test('names the server by its current context', () => {
    const config = loadKubeConfig({ kubeconfig, master: undefined });
    expect(config.getCurrentCluster()?.server).toBe('https://10.0.0.2:6443');
  });

  test('keeps its user where --master names another server', () => {
    const config = loadKubeConfig({ kubeconfig, master: 'https://127.0.0.1:8443' });
    expect(config.getCurrentCluster()?.server).toBe('https://127.0.0.1:8443');
    expect(config.getCurrentUser()?.token).toBe('secret');
    expect(config.getCluster('here')?.server).toBe('https://10.0.0.1:6443');
  });

  test('without a current context is of no use', async () => {
    await writeFile(kubeconfig, JSON.stringify({ ...CONFIG, 'current-context': '' }));
    expect(() => loadKubeConfig({ kubeconfig, master: undefined })).toThrow(
      /no current context with a cluster/,
    );
  });

  test('that is not there is an error that names it', () => {
    expect(() => loadKubeConfig({ kubeconfig: '/nowhere/config', master: undefined })).toThrow(
      '/nowhere/config',
    );
  });
});
