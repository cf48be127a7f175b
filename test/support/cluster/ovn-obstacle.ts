import { ensureOvnPrograms } from '../../env/ovn/ovn-programs.ts';
import { neutronEnvironment } from '../jest/describe-with-neutron.ts';
import { multusObstacle } from './multus-obstacle.ts';

/** Why no pod can be a port of OVN here; undefined where all of it can be had. */
export async function ovnObstacle(): Promise<string | undefined> {
  const other = await multusObstacle();
  if (other !== undefined) return other;
  if (typeof neutronEnvironment === 'string') return neutronEnvironment;
  return ensureOvnPrograms(process.env, process.stderr).then(
    () => undefined,
    (err: unknown) => `OVN cannot be had: ${err instanceof Error ? err.message.split('\n')[0] : err}`,
  );
}
