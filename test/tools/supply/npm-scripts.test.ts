import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

const run = promisify(execFile);
/** Packages with an install script that the build does without: their binaries are packages of their own. */
const DO_WITHOUT = ['node_modules/@parcel/watcher', 'node_modules/esbuild', 'node_modules/unrs-resolver'];

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'npm-scripts-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('npm with the .npmrc of the project', () => {
  test('runs no install script of a package', async () => {
    const dependency = join(directory, 'dependency');
    const project = join(directory, 'project');
    await Promise.all([dependency, project].map((each) => mkdir(each)));
    const scripts = { postinstall: 'touch installed-by-script' };
    await writeFile(
      join(dependency, 'package.json'),
      JSON.stringify({ name: 'dependency', version: '1.0.0', scripts }),
    );
    await writeFile(
      join(project, 'package.json'),
      JSON.stringify({ name: 'project', dependencies: { dependency: 'file:../dependency' } }),
    );
    await cp(join(projectDirectory(), '.npmrc'), join(project, '.npmrc'));
    await run('npm', ['install', '--offline', '--install-links'], { cwd: project });
    expect(await readdir(join(project, 'node_modules', 'dependency'))).toEqual(['package.json']);
  });

  test('installs no package that is known to need its script', async () => {
    const lock: { packages: Readonly<Record<string, { hasInstallScript?: boolean }>> } = JSON.parse(
      await readFile(join(projectDirectory(), 'package-lock.json'), 'utf8'),
    );
    const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripted.map(([path]) => path).toSorted()).toEqual(DO_WITHOUT);
  });
});
