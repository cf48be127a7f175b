import { Command, CommanderError } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { VERSION } from '../kube/util/version.ts';
import { COMMANDS } from './commands.ts';
import { type ExitCode, processTerminal, type Terminal } from './terminal.ts';

/** Reads the command line and runs what it names. Errors of usage are one line on standard error. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command(PROGRAM)
    .description(
      'Injects the Envoy sidecar into pods at admission, and turns Network objects into real networks.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureOutput({
      outputError: (message, write) => write(`${message.trim().replaceAll('\n', ' ')}\n`),
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    });

  const context = {
    terminal,
    ended(code: ExitCode) {
      exitCode = code;
    },
  };
  const asked = COMMANDS.filter(({ name }) => argv.includes(name));
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.description);
    // The help of the program tells of them all.
    if (asked.includes(entry) || asked.length === 0) await entry.load(command, context);
  }

  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`error: ${error.message}\n`);
      return 2;
    }
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end this way too, with code 0; commander has printed what there is to say.
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}
