import { Command, CommanderError } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { VERSION } from '../kube/util/version.ts';
import { COMMANDS } from './commands.ts';
import { type ExitCode, processTerminal, type Terminal } from './terminal.ts';

/** Runs the command that the command line names. Usage errors are one line on standard error. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command(PROGRAM)
    .description(
      'Injects an Envoy sidecar into pods at admission, and creates real networks from Network objects.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    // Options of a command are unknown before it is loaded.
    .configureHelp({
      subcommandTerm: (command) =>
        `${command.name()} ${COMMANDS.find(({ name }) => name === command.name())?.usage ?? '[command]'}`,
    })
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
  const named = COMMANDS.filter(({ name }) => argv.includes(name));
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.description);
    if (named.includes(entry)) await entry.load(command, context);
  }

  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`error: ${error.message}\n`);
      return 2;
    }
    if (!(error instanceof CommanderError)) throw error;
    // --help and --version also end with a CommanderError, with code 0. Commander has already printed the message.
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}
