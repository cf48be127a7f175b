import { basename } from 'node:path';
import { Command, CommanderError } from 'commander';
import { PROGRAM } from '../json/own-names.ts';
import { UsageError } from '../kube/util/usage-error.ts';
import { VERSION } from '../kube/util/version.ts';
import { COMMANDS } from './commands.ts';
import { type ExitCode, processTerminal, type Terminal } from './io/terminal.ts';

/** Its path in the sources of each release. */
const CLI_PAGE = 'docs/cli.md';
/** The command by which scripts of shells ask for candidates, as in programs made with cobra. */
const COMPLETE = '__complete';

/**
 * Runs the command that the command line names. Usage errors are one line on standard error. As `kubectl-envoy`, it is a
 * plugin of kubectl, and as `kubectl_complete-envoy` it completes command lines of that plugin.
 */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const invokedAs = basename(argv[1] ?? '');
  const args = [...(invokedAs === 'kubectl_complete-envoy' ? [COMPLETE] : []), ...argv.slice(2)];
  const name = invokedAs === 'kubectl-envoy' ? 'kubectl envoy' : PROGRAM;
  const program = new Command(name)
    .description(
      'Injects an Envoy sidecar into pods at admission, and creates real networks from Network objects.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    // Options of a command are unknown before it is loaded.
    .configureHelp({
      subcommandTerm: (command) =>
        `${command.name()} ${COMMANDS.find((each) => each.name === command.name())?.usage ?? '[command]'}`,
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
  const named: Command[] = [];
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.description);
    if (!args.includes(entry.name)) continue;
    await entry.load(command, context);
    const examples = entry.examples.map((example) => `  ${name} ${example}`);
    command.addHelpText(
      'after',
      ['\nExamples:', ...examples, `\nMore: ${CLI_PAGE}#${entry.name}`].join('\n'),
    );
    named.push(command);
  }

  if (args[0] === COMPLETE) {
    const { candidates, printCandidates } = await import('./completion/candidates.ts');
    terminal.out(printCandidates(candidates(program, args.slice(1))));
    return 0;
  }
  try {
    await program.parseAsync(commandFirst(args, named), { from: 'user' });
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

/** The arguments with the command before its flags, because kubectl takes any order: `-n web check deploy/web`. */
function commandFirst(args: readonly string[], commands: readonly Command[]): readonly string[] {
  for (const command of commands) {
    const takesNext = (arg: string) =>
      command.options.some(({ required, short, long }) => required && (arg === short || arg === long));
    let at = 0;
    for (let arg = args[0]; arg?.startsWith('-'); arg = args[at]) at += takesNext(arg) ? 2 : 1;
    if (args[at] === command.name()) return [command.name(), ...args.slice(0, at), ...args.slice(at + 1)];
  }
  return args;
}
