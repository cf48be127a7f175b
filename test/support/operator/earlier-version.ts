import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

/** The version from which users may come, and to which they may go back. There is no tag yet. */
export const EARLIER = '73bf9537d608580714ca3e46c18e0ea14ed89193';

/** Manifests and program of a version. */
export interface Version {
  /** The folder `deploy`. */
  readonly deploy: string;
  /** From the project's root. */
  readonly program: string;
}

export const THIS_VERSION: Version = { deploy: join(projectDirectory(), 'deploy'), program: 'dist/main.js' };

async function shell(script: string): Promise<string> {
  const { PATH = '', HOME = '/' } = process.env;
  const { code, stderr } = await runCommand('sh', ['-ec', script], { PATH, HOME }, '');
  return code === 0 ? '' : stderr.trim() || `exit code ${code}`;
}

/** Why there is no such version here; undefined if there is. */
export async function obstacleTo(commit: string): Promise<string | undefined> {
  const missing = await shell(`git -C '${projectDirectory()}' cat-file -e '${commit}^{commit}'`);
  if (missing === '') return undefined;
  return `the history of this checkout has no commit ${commit} (${missing}): use a full clone, git fetch --unshallow`;
}

/** Takes an earlier version from the history, and builds its program with the packages of this one. */
export async function earlierVersion(commit: string): Promise<Version> {
  // In the project: the program finds its packages from there.
  const directory = join(projectDirectory(), 'build/earlier', commit);
  await mkdir(directory, { recursive: true });
  const archive = `git -C '${projectDirectory()}' archive ${commit} crd deploy src`;
  const failure = await shell(
    `${archive} > '${directory}.tar'; tar -x -C '${directory}' -f '${directory}.tar'`,
  );
  if (failure !== '') throw new Error(`cannot read commit ${commit}: ${failure}`);
  const program = join(directory, 'main.js');
  await build({
    entryPoints: [join(directory, 'src/main.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  return { deploy: join(directory, 'deploy'), program: relative(projectDirectory(), program) };
}
