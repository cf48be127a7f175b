import { ensureMultus } from '../../env/cluster/multus/multus.ts';
import { ensureOvnPrograms } from '../../env/ovn/ovn-programs.ts';
import { nodeObstacle } from '../jest/describe-with-cluster.ts';
import { neutronEnvironment } from '../jest/describe-with-neutron.ts';

/** Why no pod can be a port of OVN here; undefined where all of it can be had, which is built where it is not there. */
export async function ovnObstacle(): Promise<string | undefined> {
  if (nodeObstacle !== undefined) return nodeObstacle;
  if (typeof neutronEnvironment === 'string') return neutronEnvironment;
  try {
    await ensureMultus(process.env, process.stderr);
    await ensureOvnPrograms(process.env, process.stderr);
    return undefined;
  } catch (err) {
    return `Multus and OVN cannot be had: ${err instanceof Error ? err.message.split('\n')[0] : err}`;
  }
}
