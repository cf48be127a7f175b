import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { cacheDirectory, hostTarget } from '../../env/control-plane/cache-directory.ts';
import { minorOf, readChosenModule, readPinnedModule } from '../../env/control-plane/pinned-module.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pinned-module-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function write(goMod: string, goSum: string) {
  await writeFile(join(directory, 'go.mod'), goMod);
  await writeFile(join(directory, 'go.sum'), goSum);
  return readPinnedModule(directory);
}

describe('the pinned module', () => {
  const line = 'module m\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.36.3 // indirect\n';
  const block = 'module m\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/api v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)\n';

  test.each([
    ['a line of its own', line],
    ['a block', block],
  ])('has its versions from go.mod, required in %s', async (_, goMod) => {
    expect(await write(goMod, '')).toMatchObject({ kubernetesVersion: 'v1.36.3', goVersion: '1.26.0' });
  });

  test('has a digest that changes with either file', async () => {
    const digests = [await write(line, 'a'), await write(line, 'b'), await write(block, 'a')].map(
      (m) => m.digest,
    );
    expect(new Set(digests).size).toBe(3);
    for (const digest of digests) expect(digest).toMatch(/^[0-9a-f]{12}$/);
    expect((await write(line, 'a')).digest).toBe(digests[0]);
  });

  test('is refused where Kubernetes is not required', async () => {
    await expect(write('module m\n\ngo 1.26.0\n', '')).rejects.toThrow('k8s.io/kubernetes');
  });

  test('is the one of this project, from wherever the code runs', async () => {
    const module = await readPinnedModule();
    expect(module.kubernetesVersion).toMatch(/^v1\.\d+\.\d+$/);
    expect(module.directory).toMatch(/(?<!build\/)test\/env\/control-plane$/);
  });
});

describe('the version in KUBERNETES', () => {
  test.each([[{}], [{ KUBERNETES: '' }], [{ KUBERNETES: '1.36' }]])('%j is ours', async (env) => {
    expect(await readChosenModule(env)).toEqual(await readPinnedModule());
  });

  test('is one of test/env/control-plane/versions', async () => {
    const module = await readChosenModule({ KUBERNETES: '1.31' });
    expect(minorOf(module)).toBe('1.31');
    expect(module.digest).not.toBe((await readPinnedModule()).digest);
  });

  test('is refused with the versions that there are', async () => {
    await expect(readChosenModule({ KUBERNETES: '1.30' })).rejects.toThrow(
      'KUBERNETES=1.30: expected one of 1.31, 1.33, 1.35, 1.36, 1.37',
    );
  });
});

describe('the cache', () => {
  const module = {
    directory: '/m',
    kubernetesVersion: 'v1.36.3',
    goVersion: '1.26.0',
    digest: '0123456789ab',
  };
  const target = { goos: 'linux', goarch: 'amd64' };
  const rest = 'envoy-initializer/control-plane/v1.36.3-0123456789ab/linux-amd64';

  test.each([
    [{ XDG_CACHE_HOME: '/caches', HOME: '/home/me' }, `/caches/${rest}`],
    [{ HOME: '/home/me' }, `/home/me/.cache/${rest}`],
    [{ XDG_CACHE_HOME: '', HOME: '/home/me' }, `/home/me/.cache/${rest}`],
  ])('with %j is %s', (env, expected) => {
    expect(cacheDirectory(env, module, target)).toBe(expected);
  });

  test.each([
    ['linux', 'x64', { goos: 'linux', goarch: 'amd64' }],
    ['darwin', 'arm64', { goos: 'darwin', goarch: 'arm64' }],
  ])('calls %s on %s as Go does', (platform, arch, expected) => {
    expect(hostTarget(platform, arch)).toEqual(expected);
  });

  test('is not for a system that the API server does not run on', () => {
    expect(() => hostTarget('win32', 'x64')).toThrow('win32');
  });
});
