import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pinBases } from '../../../hack/release/pin-bases.ts';
import { readSource } from '../../../hack/release/source.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const BASE = `node:26-slim@sha256:${'a'.repeat(64)}`;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'release-'));
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

const run = promisify(execFile);
const git = (...args: readonly string[]) =>
  run('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args]);

describe('the source of a release', () => {
  test('is the commit, the changed files and the remote without its password', async () => {
    await git('init', '--quiet');
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

/** Packages with an install script that the build does without: their binaries are packages of their own. */
const DO_WITHOUT = ['node_modules/@parcel/watcher', 'node_modules/esbuild', 'node_modules/unrs-resolver'];

test('npm runs no install script of a package with the .npmrc of the project', async () => {
  const write = async (name: string, content: object) => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'package.json'), JSON.stringify({ name, ...content }));
  };
  await write('dependency', { version: '1.0.0', scripts: { postinstall: 'touch installed-by-script' } });
  await write('project', { dependencies: { dependency: 'file:../dependency' } });
  const project = join(directory, 'project');
  await cp(join(projectDirectory(), '.npmrc'), join(project, '.npmrc'));
  await run('npm', ['install', '--offline', '--install-links'], { cwd: project });
  expect(await readdir(join(project, 'node_modules', 'dependency'))).toEqual(['package.json']);
});

test('no package is installed that is known to need its script', async () => {
  const lock: { packages: Readonly<Record<string, { hasInstallScript?: boolean }>> } = JSON.parse(
    await readFile(join(projectDirectory(), 'package-lock.json'), 'utf8'),
  );
  const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripted.map(([path]) => path).toSorted()).toEqual(DO_WITHOUT);
});
