import { ADD_ONS } from './addons/index.ts';
import { type ExitCode, processTerminal, type Terminal } from './cli/io/terminal.ts';
import { runProgram } from './cli/program.ts';

/** Runs a command line of the program with all add-ons, and returns the exit code. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  return await runProgram(ADD_ONS, argv, terminal);
}
