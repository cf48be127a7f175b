import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { takeBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';
import { goBuild } from './go-build.ts';
import { lockedModule } from './locked-module.ts';
import type { Pin } from './pins.ts';

/** A program to be built once. */
export interface GoProgram {
  readonly name: string;
  /** An import path, or a file of package main. */
  readonly package: string;
  /** The module that it is of, or with which it is built; without one it needs no more than Go. */
  readonly pin?: Pin;
  /** Where it is kept; by default in a directory of its name. */
  readonly path?: string;
}

/** The path of a program in the cache; undefined where it is not built. */
export async function findGoProgram(program: GoProgram, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const path = await pathOf(program, env);
  return existsSync(path) ? path : undefined;
}

/** Finds a program in the cache, and first builds it where it is not there. Resolves to its path. */
export async function ensureGoProgram(
  program: GoProgram,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const { name, pin } = program;
  const path = await pathOf(program, env);
  if (existsSync(path)) return path;
  const cache = dirname(path);
  await mkdir(cache, { recursive: true });
  const lock = await takeBuildLock(join(cache, '.build.lock'), name, progress);
  const supervisor = await startSupervisor();
  try {
    // Another process may have built it while we waited.
    if (existsSync(path)) return path;
    const temporaryDirectory = await supervisor.makeDirectory(join(cache, '.building-'));
    const output = join(temporaryDirectory, name);
    await withProgress(progress, `building ${name}`, async (detail) => {
      const directory = pin === undefined ? dirname(program.package) : await lockedModule(pin, env);
      const build = { name, package: program.package, pin, directory, temporaryDirectory, output, env };
      await goBuild(supervisor, build, detail);
    });
    await rename(output, path);
  } finally {
    await supervisor.stop();
    lock.release();
  }
  return path;
}

/** By default one that changes with what the program is made of. */
async function pathOf(program: GoProgram, env: NodeJS.ProcessEnv): Promise<string> {
  const { name, package: source, pin, path } = program;
  if (path !== undefined) return path;
  const hash = createHash('sha256');
  if (isAbsolute(source)) hash.update(await readFile(source));
  if (pin !== undefined) hash.update(pin.lock);
  return join(cacheRoot(env), name, hash.digest('hex').slice(0, 12));
}
