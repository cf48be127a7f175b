import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FileWatcher } from '../../../../src/kube/admission/file-watcher.ts';
import { loadKeyPair } from '../../../../src/kube/admission/key-pair.ts';
import type { KeyPair } from '../../../../src/kube/admission/server.ts';
import { makeKeyPair } from '../../../support/kube/certificates.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'key-pair-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const files = () => ({ certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') });

async function write({ cert, key }: KeyPair): Promise<void> {
  await writeFile(files().certFile, cert);
  await writeFile(files().keyFile, key);
}

/** Writes a Secret like the kubelet: files behind the link `..data`, which is swapped to another directory. */
async function project({ cert, key }: KeyPair, version: string): Promise<void> {
  const data = join(directory, version);
  await mkdir(data);
  await writeFile(join(data, 'tls.crt'), cert);
  await writeFile(join(data, 'tls.key'), key);
  await symlink(version, join(directory, '..data_tmp'));
  await rename(join(directory, '..data_tmp'), join(directory, '..data'));
}

describe('loadKeyPair', () => {
  test('returns certificate and key', async () => {
    const keyPair = makeKeyPair();
    await write(keyPair);
    expect(await loadKeyPair(files())).toEqual(keyPair);
  });

  test('refuses a key of another certificate', async () => {
    await write({ cert: makeKeyPair().cert, key: makeKeyPair().key });
    const { certFile, keyFile } = files();
    await expect(loadKeyPair(files())).rejects.toThrow(
      `${keyFile} is not the key of the certificate in ${certFile}`,
    );
  });

  test('refuses files that do not exist or are not PEM', async () => {
    await expect(loadKeyPair(files())).rejects.toMatchObject({
      message: expect.stringContaining('the file does not exist'),
    });
    await write({ cert: 'none', key: makeKeyPair().key });
    await expect(loadKeyPair(files())).rejects.toThrow(`${files().certFile} is not valid PEM`);
    await write({ cert: makeKeyPair().cert, key: '' });
    await expect(loadKeyPair(files())).rejects.toThrow(`${files().keyFile} is not valid PEM`);
  });
});

/** The next key pair that a watcher reports; it ignores errors of half-written files. */
async function firstGood(next: () => Promise<unknown>): Promise<unknown> {
  const report = await next();
  return report !== null && typeof report === 'object' && 'cert' in report ? report : firstGood(next);
}

describe('a watcher of a key pair', () => {
  /** Runs a watcher while `body` runs; `next` resolves with its next report. */
  async function watching(
    current: KeyPair,
    body: (next: () => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    const reports: unknown[] = [];
    let wake: () => void = () => {};
    const tell = (what: unknown) => {
      reports.push(what);
      wake();
    };
    const watcher = new FileWatcher({
      files: Object.values(files()),
      load: () => loadKeyPair(files()),
      current,
      changed: tell,
      failed: tell,
    });
    const stop = new AbortController();
    const running = watcher.run(stop.signal);
    const next = async () => {
      while (reports.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return reports.shift();
    };
    try {
      await body(next);
    } finally {
      stop.abort();
      await running;
    }
  }

  test('reports a change that was made before its start', async () => {
    const [old, renewed] = [makeKeyPair(), makeKeyPair()];
    await write(renewed);
    await watching(old, async (next) => expect(await firstGood(next)).toEqual(renewed));
  });

  test('reports rewritten files, and keeps the last valid pair until both are complete', async () => {
    const [old, renewed] = [makeKeyPair(), makeKeyPair()];
    await write(old);
    await watching(old, async (next) => {
      await writeFile(files().certFile, renewed.cert);
      expect(await next()).toHaveProperty('message');
      await writeFile(files().keyFile, renewed.key);
      expect(await firstGood(next)).toEqual(renewed);
    });
  });

  test('reports a Secret that the kubelet swaps behind a link', async () => {
    const [old, renewed, third] = [makeKeyPair(), makeKeyPair(), makeKeyPair()];
    await project(old, 'v1');
    await symlink(join('..data', 'tls.crt'), files().certFile);
    await symlink(join('..data', 'tls.key'), files().keyFile);
    await watching(old, async (next) => {
      await project(renewed, 'v2');
      expect(await firstGood(next)).toEqual(renewed);
      await project(third, 'v3');
      expect(await firstGood(next)).toEqual(third);
    });
  });

  test('reports when the files are deleted and when they come back', async () => {
    const [old, renewed] = [makeKeyPair(), makeKeyPair()];
    await write(old);
    await watching(old, async (next) => {
      await rm(files().keyFile);
      expect(await next()).toMatchObject({ message: expect.stringContaining('the file does not exist') });
      await write(renewed);
      expect(await firstGood(next)).toEqual(renewed);
    });
  });

  test('reports when there is nothing to watch, and ends with its signal', async () => {
    await rm(directory, { recursive: true });
    await watching(makeKeyPair(), async (next) => expect(await next()).toMatchObject({ code: 'ENOENT' }));
    await mkdir(directory);
  });
});
