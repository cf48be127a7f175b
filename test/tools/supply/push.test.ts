import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { push } from '../../../hack/release/push.ts';

const digest = `sha256:${'c'.repeat(64)}`;
const image = 'registry.example.com/app:1';
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'push-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Pushes by a shell script under the name of a builder. */
async function pushBy(name: string, script: string): Promise<string> {
  const builder = join(directory, name);
  await writeFile(builder, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return push({ builder, image, pushFlags: ['--quiet'] }, directory);
}

describe('a push', () => {
  test('returns the digest that docker prints', async () => {
    const script = `[ "$*" = "push --quiet ${image}" ] && echo "1: digest: ${digest} size: 952"`;
    expect(await pushBy('docker', script)).toBe(digest);
  });

  test.each(['podman', 'buildah'])('returns the digest that %s writes', async (name) => {
    const script = `[ "$1 $2 $4 $5" = "push --digestfile --quiet ${image}" ] && printf ${digest} >"$3"`;
    expect(await pushBy(name, script)).toBe(digest);
  });

  test('says how to log in if the registry refuses', async () => {
    const script = 'echo "unauthorized: authentication required" >&2; exit 125';
    await expect(pushBy('podman', script)).rejects.toThrow(
      /^registry\.example\.com refuses the push: run `podman login registry\.example\.com`.*\n.*\nunauthorized/,
    );
  });
});
