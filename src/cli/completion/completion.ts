import { Argument, type Command } from 'commander';
import type { SetUpCommand } from '../add-on.ts';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { oneOf } from '../options/option-values.ts';
import { SCRIPTS } from './scripts.ts';

export function addCompletionOptions(command: Command): Command {
  const shells = Object.keys(SCRIPTS);
  return command.addArgument(new Argument('<shell>').choices(shells).argParser(oneOf(...shells)));
}

/** Prints the script that a shell loads to complete our command lines. */
export async function completionCommand(shell: string, terminal: Terminal): Promise<ExitCode> {
  terminal.out(SCRIPTS[shell] ?? '');
  return 0;
}

export const setUpCommand: SetUpCommand = (command, { terminal, ended }) => {
  addCompletionOptions(command.allowExcessArguments(false)).action(async (shell: string) =>
    ended(await completionCommand(shell, terminal)),
  );
};
