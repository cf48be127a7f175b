import type { ProgressStream } from '../../test/env/control-plane/progress.ts';
import { ensureGoProgram, findGoProgram } from '../../test/env/go/go-program.ts';
import { pinOf } from '../../test/env/go/pins.ts';

const MODULES = {
  cosign: 'github.com/sigstore/cosign/v3',
  crane: 'github.com/google/go-containerregistry',
  helm: 'helm.sh/helm/v4',
};

/** A program that a release runs. */
export type ToolName = keyof typeof MODULES;

const program = (name: ToolName) => {
  const module = MODULES[name];
  return { name, package: `${module}/cmd/${name}`, pin: pinOf(module) };
};

/** The path of an existing tool: the one in COSIGN or CRANE, or the cached one. */
export async function findTool(name: ToolName, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return env[name.toUpperCase()] || (await findGoProgram(program(name), env));
}

/** Returns the path of a tool. Builds a missing one into the cache first, which takes minutes. */
export async function ensureTool(
  name: ToolName,
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<string> {
  return env[name.toUpperCase()] || (await ensureGoProgram(program(name), env, progress));
}
