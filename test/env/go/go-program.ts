import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { takeBuildLock } from '../control-plane/build-lock.ts';
import { cacheRoot } from '../control-plane/cache-directory.ts';
import { type ProgressStream, withProgress } from '../control-plane/progress.ts';
import { type Supervisor, startSupervisor } from '../control-plane/supervisor.ts';
import { lockedModule } from './locked-module.ts';
import type { Pin } from './pins.ts';

/** A program to be built once. */
export interface GoProgram {
  readonly name: string;
  /** An import path, or a file of package main or of tests. */
  readonly package: string;
  /** The module that it is of, or with which it is built; without one it needs no more than Go. */
  readonly pin?: Pin;
  /** Where it is kept; by default in a directory of its name. */
  readonly path?: string;
}

/** Lines of Go's output that an error quotes. */
const QUOTED_LINES = 20;

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
  const { name } = program;
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
    await withProgress(progress, `building ${name}`, (detail) =>
      build(supervisor, program, temporaryDirectory, env, detail),
    );
    await rename(join(temporaryDirectory, name), path);
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

/** Runs `go build` under a supervisor, so that it ends with us. Rejects with the end of its output where it fails. */
async function build(
  supervisor: Supervisor,
  { name, package: source, pin }: GoProgram,
  temporaryDirectory: string,
  env: NodeJS.ProcessEnv,
  detail: (text: string) => void,
): Promise<void> {
  const lines: string[] = [];
  const onLine = (line: string) => {
    lines.push(line);
    detail(line);
  };
  // Programs are for this machine.
  const settings = { CGO_ENABLED: '0', GOOS: '', GOARCH: '', GOWORK: 'off', GOTMPDIR: temporaryDirectory };
  const { exited } = await supervisor.start({
    name: `go build ${name}`,
    command: 'go',
    args: [
      ...(source.endsWith('_test.go') ? ['test', '-c', '-vet=off'] : ['build']),
      ...flags(pin),
      '-o',
      join(temporaryDirectory, name),
      source,
    ],
    cwd: pin === undefined ? dirname(source) : await lockedModule(pin, env),
    env: { ...env, ...settings },
    // By SIGTERM it would first finish what it is compiling; its caches stand being killed.
    stopTimeoutMs: 0,
    output: { onLine },
  });
  const { code, signal } = await exited;
  if (code === 0) return;
  const end = lines.slice(-QUOTED_LINES).join('\n');
  throw new Error(`go build of ${name} ended with ${signal ?? `code ${code}`}:\n${end}`);
}

/** Without its version a server calls itself v0.0.0-master, which kubectl refuses to parse. */
function flags(pin: Pin | undefined): string[] {
  const variables = ['k8s.io/component-base/version.gitVersion', 'k8s.io/client-go/pkg/version.gitVersion'];
  const values =
    pin?.module === 'k8s.io/kubernetes' ? variables.map((name) => `-X ${name}=${pin.version}`) : [];
  return ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...values].join(' ')];
}
