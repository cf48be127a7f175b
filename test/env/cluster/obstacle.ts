import { runCommand } from '../control-plane/run-command.ts';
import { searchPath } from './search-path.ts';

/** Why this machine can run no cluster at all, whatever is installed; undefined where it can. */
export async function clusterObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `a node needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a node needs root';
  const namespaces = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', 'true'];
  const { code, stderr } = await runCommand('unshare', namespaces, { PATH: searchPath() }, '');
  return code === 0 ? undefined : `a node needs namespaces of its own: ${stderr.trim()}`;
}
