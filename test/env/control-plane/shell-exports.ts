import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { findBinaries } from './build.ts';

/** What to type into a shell to reach a cluster: its kubeconfig and, for a shell that finds no kubectl, where ours is. */
export async function shellExports(kubeconfigPath: string, env = process.env): Promise<readonly string[]> {
  const kubeconfig = `export KUBECONFIG=${kubeconfigPath}`;
  const hasKubectl = spawnSync('kubectl', ['version', '--client'], { env }).error === undefined;
  if (hasKubectl) return [kubeconfig];
  const { kubectl } = await findBinaries(env);
  return [kubeconfig, `export PATH=${dirname(kubectl)}:$PATH`];
}
