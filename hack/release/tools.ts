import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureGoProgram, goProgramPath } from '../../test/env/cluster/go-program.ts';
import { readPinnedModule } from '../../test/env/control-plane/pinned-module.ts';
import type { ProgressStream } from '../../test/env/control-plane/progress.ts';
import { projectDirectory } from '../../test/env/control-plane/project-directory.ts';

const PACKAGES = {
  cosign: 'github.com/sigstore/cosign/v3/cmd/cosign',
  crane: 'github.com/google/go-containerregistry/cmd/crane',
};

/** A program that a release runs. */
export type ToolName = keyof typeof PACKAGES;

/** The Go module that pins all tools. */
const MODULE = join(projectDirectory(), 'hack', 'release', 'tools');
const SOURCES = ['go.mod', 'go.sum'].map((file) => join(MODULE, file));

/** The path of an existing tool: the one in COSIGN or CRANE, or the cached one. */
export async function findTool(name: ToolName, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const own = env[name.toUpperCase()];
  if (own) return own;
  const path = await goProgramPath({ name, sources: SOURCES }, env);
  return existsSync(path) ? path : undefined;
}

/** Returns the path of a tool. Builds a missing one into the cache first, which takes minutes. */
export async function ensureTool(
  name: ToolName,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  const found = await findTool(name, env);
  if (found !== undefined) return found;
  const { goVersion } = await readPinnedModule();
  const program = { name, directory: MODULE, package: PACKAGES[name], goVersion, sources: SOURCES };
  return ensureGoProgram(program, env, progress);
}
