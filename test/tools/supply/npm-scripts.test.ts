import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';

/** Packages with an install script that the build does without: their binaries are packages of their own. */
const DO_WITHOUT = ['node_modules/@parcel/watcher', 'node_modules/esbuild', 'node_modules/unrs-resolver'];

test('npm runs no install script of a package with the .npmrc of the project', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'npm-scripts-'));
  const write = async (name: string, content: object) => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'package.json'), JSON.stringify({ name, ...content }));
  };
  await write('dependency', { version: '1.0.0', scripts: { postinstall: 'touch installed-by-script' } });
  await write('project', { dependencies: { dependency: 'file:../dependency' } });
  const project = join(directory, 'project');
  await cp(join(projectDirectory(), '.npmrc'), join(project, '.npmrc'));
  await promisify(execFile)('npm', ['install', '--offline', '--install-links'], { cwd: project });
  expect(await readdir(join(project, 'node_modules', 'dependency'))).toEqual(['package.json']);
  await rm(directory, { recursive: true });
});

test('no package is installed that is known to need its script', async () => {
  const lock: { packages: Readonly<Record<string, { hasInstallScript?: boolean }>> } = JSON.parse(
    await readFile(join(projectDirectory(), 'package-lock.json'), 'utf8'),
  );
  const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripted.map(([path]) => path).toSorted()).toEqual(DO_WITHOUT);
});
