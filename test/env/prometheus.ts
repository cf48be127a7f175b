import { join } from 'node:path';
import type { ProgressStream } from './control-plane/progress.ts';
import { ensureDebianPackages } from './debian-packages.ts';

/** Paths of the two programs. */
export interface Prometheus {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Finds Prometheus in the cache, and first gets it from its Debian package. Rejects as `ensureDebianPackages` does. */
export async function ensurePrometheus(
  env: NodeJS.ProcessEnv,
  progress: ProgressStream,
): Promise<Prometheus> {
  const directory = await ensureDebianPackages('prometheus', ['prometheus'], env, progress);
  const program = (name: string) => join(directory, 'usr', 'bin', name);
  return { prometheus: program('prometheus'), promtool: program('promtool') };
}
