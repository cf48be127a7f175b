import { Argument, type Command } from 'commander';
import type { ExitCode, Terminal } from '../io/terminal.ts';
import { SCRIPTS } from './scripts.ts';

export function addCompletionOptions(command: Command): Command {
  return command.addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)));
}

/** Prints the script that a shell loads to complete our command lines. */
export async function completionCommand(shell: string, terminal: Terminal): Promise<ExitCode> {
  terminal.out(SCRIPTS[shell] ?? '');
  return 0;
}
