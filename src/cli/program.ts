import { basename } from 'node:path';
import { Command, CommanderError } from 'commander';
import { UsageError } from '../kube/util/usage-error.ts';
import { VERSION } from '../kube/util/version.ts';
import { PROGRAM } from '../util/identity.ts';
import { suggest } from '../util/suggest.ts';
import type { AddOn } from './add-on.ts';
import { commandsWith } from './commands.ts';
import type { ExitCode, Terminal } from './io/terminal.ts';
import { programName } from './program-name.ts';

/** Its path in the sources of each release. */
const CLI_PAGE = 'docs/cli.md';
/** The command by which scripts of shells ask for candidates, as in programs made with cobra. */
const COMPLETE = '__complete';

/**
 * Runs the command that the command line names. Usage errors are one line on standard error. As `kubectl-envoy`, it is a
 * plugin of kubectl, and as `kubectl_complete-envoy` it completes command lines of that plugin.
 */
export async function runProgram(
  addOns: readonly AddOn[],
  argv: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const entries = commandsWith(addOns);
  let exitCode: ExitCode = 0;
  const invokedAs = basename(argv[1] ?? '');
  const args = [...(invokedAs === 'kubectl_complete-envoy' ? [COMPLETE] : []), ...argv.slice(2)];
  const name = programName(argv[1]);
  const program = new Command(name)
    .description(
      'Injects an Envoy sidecar into pods at admission, and creates real networks from Network objects.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    // Options of a command are unknown before it is loaded.
    .configureHelp({
      subcommandTerm: (command) =>
        `${command.name()} ${entries.find((each) => each.name === command.name())?.usage ?? '[command]'}`,
    })
    .configureOutput({
      // Printed below, with advice.
      outputError: () => {},
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    });

  const context = {
    terminal,
    addOns,
    ended(code: ExitCode) {
      exitCode = code;
    },
  };
  const named: Command[] = [];
  for (const entry of entries) {
    const command = program.command(entry.name).description(entry.description);
    if (!args.includes(entry.name)) continue;
    const { setUpCommand } = await entry.load();
    await setUpCommand(command, context);
    const examples = entry.examples.map(
      (example) => `  ${name} ${example.replace(`| ${PROGRAM} `, `| ${name} `)}`,
    );
    command.addHelpText(
      'after',
      ['\nExamples:', ...examples, `\nMore: ${CLI_PAGE}#${entry.name}`].join('\n'),
    );
    named.push(command);
  }

  if (args[0] === COMPLETE) {
    const { candidates, printCandidates } = await import('./completion/candidates.ts');
    const found = candidates(program, args.slice(1));
    if (found.length > 0) terminal.out(printCandidates(found));
    else {
      const { liveCandidates } = await import('./completion/live-candidates.ts');
      const names = await liveCandidates(program, args.slice(1), addOns);
      terminal.out(printCandidates(names.map((word) => ({ word, help: '' }))));
    }
    return 0;
  }
  const words = helpAsFlag(commandFirst(args, named));
  const [first = '-'] = words;
  const isUnknown = !first.startsWith('-') && !entries.some((each) => each.name === first);
  try {
    // Otherwise --help would hide that there is no such command.
    await program.parseAsync(isUnknown ? words.slice(0, 1) : words, { from: 'user' });
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`error: ${error.message}\n`);
      return 2;
    }
    if (!(error instanceof CommanderError)) throw error;
    // --help and --version also end with a CommanderError, with code 0; without a command, help is the message.
    if (error.exitCode !== 0 && error.code !== 'commander.help')
      terminal.err(`${usageProblem(error, name, named.at(-1))}\n`);
    return error.exitCode === 0 ? 0 : 2;
  }
  return exitCode;
}

/** `help inject` as `inject --help`, which names an unknown command. */
function helpAsFlag(args: readonly string[]): readonly string[] {
  const [first, ...topic] = args;
  return first === 'help' ? [...topic.slice(0, 1), '--help'] : args;
}

/** The message of commander in one line, with what to write for a file, or for a word that is too much. */
function usageProblem({ code, message }: CommanderError, name: string, command: Command | undefined): string {
  const line = message.trim().replaceAll('\n', ' ');
  const isUnknown = code === 'commander.unknownOption' || code === 'commander.unknownCommand';
  const run = command === undefined ? name : `${name} ${command.name()}`;
  const [, flag = ''] = /^error: unknown option '(--[^=]+)=/.exec(line) ?? [];
  const meant = suggest(flag, command?.options.flatMap(({ long }) => long ?? []) ?? []);
  if (meant !== undefined && !line.includes('Did you mean')) return `${line} (Did you mean ${meant}?)`;
  const see = isUnknown && !line.includes('Did you mean') ? `${line}: see ${run} --help` : line;
  if (command === undefined) return see;
  const { registeredArguments: known, options } = command;
  if (code === 'commander.missingArgument') return `${line}: see ${run} --help`;
  if (code === 'commander.excessArguments') {
    const excess = command.args[known.length] ?? '';
    const choices = known[0]?.argChoices;
    const [word = ''] = command.args;
    if (choices && !choices.includes(word))
      return `error: unexpected argument '${word}': use ${choices.join(', ')}, or see ${run} --help`;
    if (options.some(({ long }) => long === '--file'))
      return `error: unexpected argument '${excess}': use ${run} --file ${excess}`;
    const takesFile = known.length === 0 && options.some(({ long }) => long === '--filename');
    return `error: unexpected argument '${excess}': ${takesFile ? `use ${run} -f ${excess}` : `see ${run} --help`}`;
  }
  const isFileFlag = code === 'commander.unknownOption' && /option '(-f|--filename|--template)/.test(line);
  if (isFileFlag && known[0]?.name() === 'file') return `${line}: use ${run} FILE, without a flag`;
  if (isFileFlag && options.some(({ long }) => long === '--file')) return `${line}: use ${run} --file PATH`;
  return see;
}

/** The arguments with the command before its flags, because kubectl takes any order: `-n web check deploy/web`. */
function commandFirst(args: readonly string[], commands: readonly Command[]): readonly string[] {
  for (const command of commands) {
    const words = spelledOut(args, command);
    let at = 0;
    for (let word = words[0]; word?.startsWith('-'); word = words[at]) at += takesNext(command, word) ? 2 : 1;
    if (words[at] === command.name()) return [command.name(), ...words.slice(0, at), ...words.slice(at + 1)];
  }
  return args;
}

function takesNext({ options }: Command, word: string): boolean {
  return options.some(({ required, short, long }) => required && (word === short || word === long));
}

/** Forms of flags that kubectl knows and commander does not: `-n=web` as `-n web`, `-A=true` as `-A`, and nothing for `-A=false`. */
function spelledOut(args: readonly string[], command: Command): readonly string[] {
  const words: string[] = [];
  let isValue = false;
  for (const arg of args) {
    const [, flag, value] = /^(--?[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    const option = isValue
      ? undefined
      : command.options.find(({ short, long }) => flag === short || flag === long);
    if (flag === undefined || value === undefined || option === undefined) words.push(arg);
    else if (option.required && flag === option.short) words.push(flag, value);
    else if (option.isBoolean() && /^(true|false)$/.test(value))
      words.push(...(value === 'true' ? [flag] : []));
    else words.push(arg);
    isValue = !isValue && takesNext(command, arg);
  }
  return words;
}
