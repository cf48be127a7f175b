import { ensureMultus } from '../../env/cluster/multus/multus.ts';
import { nodeObstacle } from '../jest/describe-with-cluster.ts';

/** Why no pod can be attached to further networks here; undefined where Multus can be had, which is built where it is not there. */
export async function multusObstacle(): Promise<string | undefined> {
  if (nodeObstacle !== undefined) return nodeObstacle;
  return ensureMultus(process.env, process.stderr).then(
    () => undefined,
    (err: unknown) => `Multus cannot be built: ${err instanceof Error ? err.message.split('\n')[0] : err}`,
  );
}
