import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureGoProgram, goProgramPath } from '../cluster/go-program.ts';
import { readPinnedModule } from '../control-plane/pinned-module.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';

const DIRECTORY = join(projectDirectory(), 'test', 'env', 'krew');
const SOURCES = ['go.mod', 'go.sum'].map((file) => join(DIRECTORY, file));

/** The paths of programs. */
export interface Krew {
  readonly krew: string;
  /** Checks a manifest as krew's index does. */
  readonly validator: string;
}

const program = (name: string) => ({ name, sources: SOURCES });
const KREW = program('krew');
const VALIDATOR = program('validate-krew-manifest');

/** The cached programs; undefined if one is not built. */
export async function findKrew(env: NodeJS.ProcessEnv): Promise<Krew | undefined> {
  const found = { krew: await goProgramPath(KREW, env), validator: await goProgramPath(VALIDATOR, env) };
  return existsSync(found.krew) && existsSync(found.validator) ? found : undefined;
}

/** Builds what is missing into the cache first, which takes a minute. */
export async function ensureKrew(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<Krew> {
  const { goVersion } = await readPinnedModule();
  const ensure = (of: typeof KREW) =>
    ensureGoProgram(
      { ...of, directory: DIRECTORY, package: `sigs.k8s.io/krew/cmd/${of.name}`, goVersion },
      env,
      progress,
    );
  return { krew: await ensure(KREW), validator: await ensure(VALIDATOR) };
}
