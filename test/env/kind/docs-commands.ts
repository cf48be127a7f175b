import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandsOf, section } from '../../support/jest/markdown.ts';
import { projectDirectory } from '../control-plane/project-directory.ts';

/** The commands of docs/install.md that make a cluster with the operator in it, as they are printed. */
export async function installCommands(networks: boolean): Promise<readonly string[]> {
  const text = await readFile(join(projectDirectory(), 'docs/install.md'), 'utf8');
  const commands = commandsOf(section(text, '## With kind')).map(({ command }) => command);
  const [all, injection] = ['kind', 'default'].map((name) =>
    commands.find((command) => command.endsWith(`deploy/overlays/${name}`)),
  );
  if (all === undefined || injection === undefined)
    throw new Error('docs/install.md: expected commands that apply the overlays kind and default');
  // The second stands after the others, to be typed in place of the first.
  return commands
    .filter((command) => command !== injection)
    .map((command) => (command === all && !networks ? injection : command));
}
