import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ensureBinaries, findBinaries } from '../../env/control-plane/build.ts';
import { tryBuildLock } from '../../env/control-plane/build-lock.ts';
import { fakeGoEnv, makeFakeGo } from '../../support/operator/fake-go.ts';

const silent = { write: () => true };
let cache: string;
let fakeGo: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'control-plane-cache-'));
});
afterEach(() => {
  rmSync(cache, { recursive: true });
  rmSync(fakeGo, { recursive: true });
});

/** The names of what is in the cache, the lock apart. */
function cachedFiles(directory: string): string[] {
  return readdirSync(directory).filter((name) => name !== '.build.lock');
}

function builds(): string[] {
  return readFileSync(join(fakeGo, 'builds'), 'utf8').trim().split('\n');
}

describe('building the control plane', () => {
  test('makes the four binaries, of the pinned version, and nothing else', async () => {
    fakeGo = makeFakeGo();
    const binaries = await ensureBinaries(fakeGoEnv(fakeGo, cache), silent);
    expect(cachedFiles(dirname(binaries.etcd))).toEqual([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kubectl',
    ]);
    expect(builds()).toHaveLength(4);
    expect(builds()[1]).toMatch(
      /^build .*-X k8s\.io\/component-base\/version\.gitVersion=v1\.\S+ .*k8s\.io\/kubernetes\/cmd\/kube-apiserver$/,
    );
  });

  test('builds only what is missing', async () => {
    fakeGo = makeFakeGo();
    const env = fakeGoEnv(fakeGo, cache);
    const { kubectl } = await ensureBinaries(env, silent);
    await ensureBinaries(env, silent);
    expect(builds()).toHaveLength(4);
    rmSync(kubectl);
    await ensureBinaries(env, silent);
    expect(builds()).toHaveLength(5);
    expect(builds()[4]).toMatch(/cmd\/kubectl$/);
  });

  test('removes what a build left whose machine went down', async () => {
    fakeGo = makeFakeGo();
    const env = fakeGoEnv(fakeGo, cache);
    const { kubectl } = await ensureBinaries(env, silent);
    rmSync(kubectl);
    mkdirSync(join(dirname(kubectl), '.building-before/kubectl'), { recursive: true });
    await ensureBinaries(env, silent);
    expect(cachedFiles(dirname(kubectl))).toHaveLength(4);
  });

  test('happens once, where two ask at once', async () => {
    fakeGo = makeFakeGo();
    const env = fakeGoEnv(fakeGo, cache);
    const written: string[] = [];
    const both = await Promise.all([
      ensureBinaries(env, { write: (text) => written.push(text) }),
      ensureBinaries(env, { write: (text) => written.push(text) }),
    ]);
    expect(both[0]).toEqual(both[1]);
    expect(builds()).toHaveLength(4);
    expect(written).toContain('waiting for another build of the control plane\n');
  });

  test('that fails says what Go said, leaves nothing half-built, and is done again the next time', async () => {
    fakeGo = makeFakeGo({}, 'echo partial > "$output"; echo "undefined: something" >&2; exit 1');
    const env = fakeGoEnv(fakeGo, cache);
    await expect(ensureBinaries(env, silent)).rejects.toThrow(
      /go build of etcd ended with code 1:\nundefined: something/,
    );
    await expect(findBinaries(env)).rejects.toThrow(
      'no etcd, kube-apiserver, kube-controller-manager, kubectl in',
    );
    const repaired = makeFakeGo();
    const { etcd } = await ensureBinaries(fakeGoEnv(repaired, cache), silent);
    expect(cachedFiles(dirname(etcd))).toHaveLength(4);
    expect(readFileSync(etcd, 'utf8')).toBe('built\n');
    rmSync(repaired, { recursive: true });
  });

  test('that is killed leaves no compiler, no file and no lock', async () => {
    const fifo = join(cache, 'started');
    execFileSync('sh', ['-c', 'mkfifo "$0"', fifo]);
    fakeGo = makeFakeGo({}, `echo partial > "$output"; echo "$output" > ${fifo}; exec sleep 1000`);
    const env = fakeGoEnv(fakeGo, cache);
    const cli = fileURLToPath(import.meta.resolve('../../env/control-plane/cli.js'));
    const building = spawn(process.execPath, [cli, 'build'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    // Its stderr, which its supervisor shares, closes when the last of the two has ended.
    const closed = once(building, 'close');
    const directory = await readFile(fifo, 'utf8')
      .then((path) => dirname(dirname(path.trim())))
      .finally(() => building.kill('SIGKILL'));
    await closed;
    expect(cachedFiles(directory)).toEqual([]);
    const lock = tryBuildLock(join(directory, '.build.lock'));
    expect(lock).toBeDefined();
    lock?.release();
  });
});

describe('binaries that are not built yet', () => {
  test('are reported with both ways to get them', async () => {
    fakeGo = makeFakeGo();
    const finding = findBinaries(fakeGoEnv(fakeGo, cache));
    await expect(finding).rejects.toThrow('node test/env/control-plane/cli.ts build');
    await expect(finding).rejects.toThrow('KUBEBUILDER_ASSETS');
  });

  test('are not looked for where assets are given', async () => {
    fakeGo = makeFakeGo();
    for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
      writeFileSync(join(fakeGo, name), '', { mode: 0o755 });
    }
    const binaries = await findBinaries({ ...fakeGoEnv(fakeGo, cache), KUBEBUILDER_ASSETS: fakeGo });
    expect(Object.values(binaries).map(dirname)).toEqual([fakeGo, fakeGo, fakeGo]);
  });
});
