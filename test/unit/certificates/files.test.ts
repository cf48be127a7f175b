import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { followFiles, loadClientAuthorities, loadKeyPair } from '../../../src/certificates/files.ts';
import type { KeyPair } from '../../../src/kube/admission/server.ts';
import { makeKeyPair } from '../../support/kube/certificates.ts';
import { testAuthority } from '../../support/kube/test-authority.ts';

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

describe('loadClientAuthorities', () => {
  const load = async (content: string) => {
    const file = join(directory, 'ca.crt');
    await writeFile(file, content);
    return loadClientAuthorities(file);
  };

  test('refuses a file with other content', async () => {
    const authority = await testAuthority();
    const { certPem } = await authority.client('api-server');
    await expect(load('')).rejects.toThrow('ca.crt: expected certificates of authorities (PEM), got none');
    await expect(load(authority.caPem + certPem)).rejects.toThrow(
      'certificate 2 of 2 (CN=api-server): expected an authority, got a certificate of a client or server',
    );
    await expect(load('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')).rejects.toThrow(
      'ca.crt: certificate 1 of 1 cannot be read',
    );
  });
});

describe('followed files', () => {
  /** Follows the files while `body` runs; `next` resolves with the next report. */
  async function following(body: (next: () => Promise<unknown>) => Promise<void>): Promise<void> {
    const reports: unknown[] = [];
    let wake: () => void = () => {};
    const tell = (what: unknown) => {
      reports.push(what);
      wake();
    };
    const load = () => loadKeyPair(files());
    const followed = { files: Object.values(files()), load, changed: tell, failed: tell };
    const stop = new AbortController();
    const running = followFiles(followed, stop.signal);
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

  /** The next key pair; ignores errors of half-written files. */
  async function firstGood(next: () => Promise<unknown>): Promise<unknown> {
    const report = await next();
    return report !== null && typeof report === 'object' && 'cert' in report ? report : firstGood(next);
  }

  test('are used again when they are rewritten, once both are complete', async () => {
    const [old, renewed] = [makeKeyPair(), makeKeyPair()];
    await write(old);
    await following(async (next) => {
      expect(await next()).toEqual(old);
      await writeFile(files().certFile, renewed.cert);
      expect(await next()).toHaveProperty('message');
      await writeFile(files().keyFile, renewed.key);
      expect(await firstGood(next)).toEqual(renewed);
    });
  });

  test('may be those of a Secret, which the kubelet swaps behind a link', async () => {
    const [old, renewed, third] = [makeKeyPair(), makeKeyPair(), makeKeyPair()];
    await project(old, 'v1');
    await symlink(join('..data', 'tls.crt'), files().certFile);
    await symlink(join('..data', 'tls.key'), files().keyFile);
    await following(async (next) => {
      expect(await next()).toEqual(old);
      await project(renewed, 'v2');
      expect(await firstGood(next)).toEqual(renewed);
      await project(third, 'v3');
      expect(await firstGood(next)).toEqual(third);
    });
  });

  test('are reported when they are deleted, and used when they come back', async () => {
    const [old, renewed] = [makeKeyPair(), makeKeyPair()];
    await write(old);
    await following(async (next) => {
      expect(await next()).toEqual(old);
      await rm(files().keyFile);
      expect(await next()).toMatchObject({ message: expect.stringContaining('the file does not exist') });
      await write(renewed);
      expect(await firstGood(next)).toEqual(renewed);
    });
  });
});
