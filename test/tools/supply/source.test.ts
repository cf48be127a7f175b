import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readSource } from '../../../hack/release/source.ts';

const run = promisify(execFile);
let directory: string;
const git = (...args: readonly string[]) =>
  run('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'source-'));
  await git('init', '--quiet');
});
afterEach(() => rm(directory, { recursive: true }));

describe('the source of a release', () => {
  test('is the commit, the changed files and the remote without its password', async () => {
    await writeFile(join(directory, 'kept'), '1');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'first');
    const { stdout } = await git('rev-parse', 'HEAD');
    const revision = stdout.trim();
    expect(await readSource(directory)).toEqual({ revision, changed: [], uri: undefined });

    await git('remote', 'add', 'origin', 'https://user:secret@example.com/project.git');
    await writeFile(join(directory, 'kept'), '2');
    await writeFile(join(directory, 'new'), '');
    const uri = 'git+https://example.com/project.git';
    expect(await readSource(directory)).toEqual({ revision, changed: ['kept', 'new'], uri });
  });
});
