import { Command } from 'commander';
import { ADD_ONS } from '../../../src/addons/index.ts';
import { commandsWith } from '../../../src/cli/program.ts';

const ENTRIES = commandsWith(ADD_ONS);

/** Each command of the binary, with its options. */
export const COMMANDS: Readonly<Record<string, Command>> = Object.fromEntries(
  await Promise.all(
    ENTRIES.map(async ({ name, load }) => {
      const command = new Command(name);
      await (await load()).setUpCommand(command, ADD_ONS);
      return [name, command] as const;
    }),
  ),
);

/** The flags of a command, short and long; undefined where there is no such command. */
export function optionsOf(command: string): readonly string[] | undefined {
  if (command.startsWith('-')) return [];
  const options = COMMANDS[command]?.options;
  return options && [...options.flatMap(({ short, long }) => [short ?? '', long ?? '']), '-h', '--help'];
}
