import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ensureBinaries, findBinaries } from '../../env/control-plane/build.ts';
import { tryBuildLock } from '../../env/control-plane/build-lock.ts';
import { fakeGoEnv, makeFakeGo } from '../../support/operator/fake-go.ts';

const silent = { write: () => true };
const ALL = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'];
let cache: string;
let fakeGo: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'control-plane-cache-'));
});
afterEach(() => {
  for (const directory of [cache, fakeGo]) rmSync(directory, { recursive: true, force: true });
});

/** The names of what is in the cache, the lock apart. */
function cachedFiles(directory: string): string[] {
  return readdirSync(directory).filter((name) => name !== '.build.lock');
}

function builds(): string[] {
  return readFileSync(join(fakeGo, 'builds'), 'utf8').trim().split('\n');
}

describe('building the control plane', () => {
  test('makes the four binaries once, where two ask at once, and then only what is missing', async () => {
    fakeGo = makeFakeGo();
    const env = fakeGoEnv(fakeGo, cache);
    const [{ kubectl }] = await Promise.all([ensureBinaries(env, silent), ensureBinaries(env, silent)]);
    expect(cachedFiles(dirname(kubectl))).toEqual(ALL);
    expect(builds()).toHaveLength(4);
    expect(builds()[1]).toMatch(
      /^build .*-X k8s\.io\/component-base\/version\.gitVersion=v1\.\S+ .*k8s\.io\/kubernetes\/cmd\/kube-apiserver$/,
    );
    rmSync(kubectl);
    await ensureBinaries(env, silent);
    expect(builds()).toHaveLength(5);
    expect(builds()[4]).toMatch(/cmd\/kubectl$/);
  });

  test('that fails says what Go said, and leaves nothing half-built', async () => {
    fakeGo = makeFakeGo('echo partial > "$output"; echo "undefined: something" >&2; exit 1');
    const env = fakeGoEnv(fakeGo, cache);
    await expect(ensureBinaries(env, silent)).rejects.toThrow(
      /go build of etcd ended with code 1:\nundefined: something/,
    );
    await expect(findBinaries(env)).rejects.toThrow(`not built yet: no ${ALL.join(', ')} in`);
  });

  test('that is killed leaves no compiler, no file and no lock', async () => {
    const fifo = join(cache, 'started');
    execFileSync('sh', ['-c', 'mkfifo "$0"', fifo]);
    fakeGo = makeFakeGo(`echo partial > "$output"; echo "$output" > ${fifo}; exec sleep 1000`);
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
