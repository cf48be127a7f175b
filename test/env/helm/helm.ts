import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureGoProgram, goProgramPath } from '../cluster/go-program.ts';
import { readPinnedModule } from '../control-plane/pinned-module.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';

const DIRECTORY = join(projectDirectory(), 'test', 'env', 'helm');
const SOURCES = ['go.mod', 'go.sum'].map((file) => join(DIRECTORY, file));

/** The path of Helm: the one in HELM, or the cached one; undefined if it is not built. */
export async function findHelm(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env.HELM) return env.HELM;
  const path = await goProgramPath({ name: 'helm', sources: SOURCES }, env);
  return existsSync(path) ? path : undefined;
}

/** Returns the path of Helm. Builds it into the cache first if it is not there, which takes two minutes. */
export async function ensureHelm(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  const found = await findHelm(env);
  if (found !== undefined) return found;
  const { goVersion } = await readPinnedModule();
  return await ensureGoProgram(
    { name: 'helm', directory: DIRECTORY, package: 'helm.sh/helm/v4/cmd/helm', goVersion, sources: SOURCES },
    env,
    progress,
  );
}
