import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pinBases } from '../../../hack/release/pin-bases.ts';

const BASE = `node:26-slim@sha256:${'a'.repeat(64)}`;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'release-command-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Writes a shell script that stands for a program, and resolves to its path. */
async function program(name: string, script: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

describe('make base-digest', () => {
  test("writes the registry's digest, and keeps the tag", async () => {
    const digest = `sha256:${'b'.repeat(64)}`;
    const crane = await program('crane', `[ "$*" = "digest node:26-slim" ] && echo ${digest}`);
    await writeFile(join(directory, 'Dockerfile'), `ARG BASE=${BASE}\nFROM \${BASE}\n`);
    await pinBases(crane, directory, ['Dockerfile'], { write: () => true });
    const text = await readFile(join(directory, 'Dockerfile'), 'utf8');
    expect(text).toBe(`ARG BASE=node:26-slim@${digest}\nFROM \${BASE}\n`);
  });
});
