import { join } from 'node:path';
import { ensureGoProgram } from '../cluster/go-program.ts';
import { readPinnedModule } from '../control-plane/pinned-module.ts';
import type { ProgressStream } from '../control-plane/progress.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';

const PACKAGES = {
  cosign: 'github.com/sigstore/cosign/v3/cmd/cosign',
  crane: 'github.com/google/go-containerregistry/cmd/crane',
};

/** Finds a tool in the cache, and first builds it, in minutes, where it is not there. COSIGN and CRANE name the user's own. */
export async function ensureTool(
  name: keyof typeof PACKAGES,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const own = env[name.toUpperCase()];
  if (own) return own;
  const directory = join(projectDirectory(), 'hack', 'release', 'tools');
  const { goVersion } = await readPinnedModule();
  const sources = ['go.mod', 'go.sum'].map((file) => join(directory, file));
  return ensureGoProgram({ name, directory, package: PACKAGES[name], goVersion, sources }, env, progress);
}
