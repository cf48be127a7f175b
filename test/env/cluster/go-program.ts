import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { takeBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot, hostTarget } from '../control-plane/cache-directory.ts';
import { goBuild } from '../control-plane/go-build.ts';
import { findGo } from '../control-plane/go-toolchain.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { startSupervisor } from '../control-plane/supervisor.ts';

/** A program to be built once. */
export interface GoProgram {
  readonly name: string;
  /** Where to build it. */
  readonly directory: string;
  /** An import path, or a file of package main. */
  readonly package: string;
  /** The least Go that builds it. */
  readonly goVersion: string;
  /** What it is made of, as far as it may change. */
  readonly sources: readonly string[];
}

/** Where a program of these sources is kept, built or not. */
export async function goProgramPath(
  { name, sources }: Pick<GoProgram, 'name' | 'sources'>,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const hash = createHash('sha256');
  for (const file of sources) hash.update(await readFile(file));
  return join(cacheRoot(env), name, hash.digest('hex').slice(0, 12));
}

/** Finds a program in the cache, and first builds it where it is not there. Resolves to its path. */
export async function ensureGoProgram(
  program: GoProgram,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const { name, directory, package: source, goVersion } = program;
  const path = await goProgramPath(program, env);
  if (existsSync(path)) return path;
  const cache = dirname(path);
  await mkdir(cache, { recursive: true });
  await findGo(env, goVersion);
  const lock = await takeBuildLock(join(cache, '.build.lock'), name, progress);
  const supervisor = await startSupervisor();
  try {
    // Another process may have built it while we waited.
    if (existsSync(path)) return path;
    const temporaryDirectory = await supervisor.makeDirectory(join(cache, '.building-'));
    const output = join(temporaryDirectory, name);
    const build = {
      name,
      package: source,
      output,
      temporaryDirectory,
      module: { directory },
      target: hostTarget(),
    };
    await withProgress(progress, `building ${name}`, (detail) =>
      goBuild(supervisor, { ...build, env }, detail),
    );
    await rename(output, path);
  } finally {
    await supervisor.stop();
    lock.release();
  }
  return path;
}
