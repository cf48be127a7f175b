import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
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

/** Reads test/env/control-plane/go.mod, the one place where versions are written. */
export async function readPinnedModule(
  directory: string = join(projectDirectory(), 'test', 'env', 'control-plane'),
): Promise<PinnedModule> {
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

function find(goMod: string | undefined, pattern: RegExp, what: string): string {
  const version = goMod?.match(pattern)?.[1];
  if (version === undefined)
    throw new Error(`expected a line for ${what} in test/env/control-plane/go.mod, got none`);
  return version;
}
