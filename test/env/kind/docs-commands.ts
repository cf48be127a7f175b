import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandsOf, section } from '../../support/jest/markdown.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';

/** The commands of docs/install.md that make a cluster with the operator in it, as they are printed. */
export async function installCommands(networks: boolean): Promise<readonly string[]> {
  const path = join(projectDirectory(), 'docs/install.md');
  const text = section(await readFile(path, 'utf8'), '## With kind');
  const commands = commandsOf(text).map(({ command }) => command);
  const all = commands.findIndex((command) => command.endsWith('deploy/overlays/kind'));
  // What the prose below has in its place.
  const [, injection] = /`(kubectl apply [^`]*deploy\/overlays\/default)`/.exec(text) ?? [];
  if (all < 0 || injection === undefined)
    throw new Error(`${path}: expected commands that apply the overlays kind and default`);
  return networks ? commands : commands.with(all, injection);
}
