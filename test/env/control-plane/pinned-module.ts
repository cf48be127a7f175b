import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from './project-directory.ts';

/** The Go module that pins what the control plane is built from. */
export interface PinnedModule {
  readonly directory: string;
  /** As in `v1.36.3`. */
  readonly kubernetesVersion: string;
  /** The least Go that builds it, as in `1.26.0`. */
  readonly goVersion: string;
  /** 12 hex digits that change with every change of a version. */
  readonly digest: string;
}

const DIRECTORY = join(projectDirectory(), 'test', 'env', 'control-plane');

/** Reads a go.mod, by default test/env/control-plane/go.mod, which has the version that all tests use. */
export async function readPinnedModule(directory = DIRECTORY): Promise<PinnedModule> {
  const [goMod, goSum] = await Promise.all(
    ['go.mod', 'go.sum'].map((name) => readFile(join(directory, name), 'utf8')),
  );
  return {
    directory,
    kubernetesVersion: find(goMod, /^(?:require)?\s*k8s\.io\/kubernetes (v\S+)/m, 'k8s.io/kubernetes'),
    goVersion: find(goMod, /^go (\S+)$/m, 'go'),
    digest: createHash('sha256').update(`${goMod}${goSum}`).digest('hex').slice(0, 12),
  };
}

/**
 * Reads the module of the version in `KUBERNETES`, as in `1.31`: those other than ours are in versions/.
 * @throws for a version that is not there, with those that are.
 */
export async function readChosenModule(env: NodeJS.ProcessEnv): Promise<PinnedModule> {
  const ours = await readPinnedModule();
  const chosen = env.KUBERNETES;
  const minor = minorOf(ours);
  if (!chosen || chosen === minor) return ours;
  const versions = join(DIRECTORY, 'versions');
  const others = await readdir(versions);
  if (others.includes(chosen)) return readPinnedModule(join(versions, chosen));
  throw new Error(`KUBERNETES=${chosen}: expected one of ${[...others, minor].sort().join(', ')}`);
}

/** As in `1.36`. */
export function minorOf({ kubernetesVersion }: PinnedModule): string {
  return kubernetesVersion.slice(1).split('.', 2).join('.');
}

/** The 31 of `KUBERNETES=1.31`; without it, of the version that all tests use. */
export async function chosenMinor(env: NodeJS.ProcessEnv): Promise<number> {
  return Number(minorOf(await readChosenModule(env)).split('.')[1]);
}

function find(goMod: string | undefined, pattern: RegExp, what: string): string {
  const version = goMod?.match(pattern)?.[1];
  if (version === undefined) throw new Error(`expected a line for ${what} in go.mod, got none`);
  return version;
}
