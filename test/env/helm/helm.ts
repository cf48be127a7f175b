import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureGoProgram, findGoProgram } from '../go/go-program.ts';
import { pinOf } from '../go/pins.ts';

const HELM = { name: 'helm', package: 'helm.sh/helm/v4/cmd/helm', pin: pinOf('helm.sh/helm/v4') };

/** The path of Helm: the one in HELM, or the cached one; undefined if it is not built. */
export async function findHelm(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return env.HELM || (await findGoProgram(HELM, env));
}

/** Returns the path of Helm. Builds it into the cache first if it is not there, which takes two minutes. */
export async function ensureHelm(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<string> {
  return env.HELM || (await ensureGoProgram(HELM, env, progress));
}
