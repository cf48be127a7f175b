import { Command, CommanderError } from 'commander';
import { UsageError } from '../kube/util/errors.ts';
import { VERSION } from '../kube/util/version.ts';
import { PROGRAM } from '../util/identity.ts';
import type { AddOn, CommandEntry } from './add-on.ts';
import { type ExitCode, programName, type Terminal } from './io/terminal.ts';

/** Its path in the sources of each release. */
const CLI_PAGE = 'docs/cli.md';

/**
 * Runs the command that the command line names. Usage errors are one line on standard error. As `kubectl-envoy`, it is a
 * plugin of kubectl.
 */
export async function runProgram(
  addOns: readonly AddOn[],
  argv: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const entries = commandsWith(addOns);
  let exitCode: ExitCode = 0;
  const args = argv.slice(2);
  const name = programName(argv[1]);
  const program = new Command(name)
    .description(
      'Injects an Envoy sidecar into pods at admission, and creates real networks from Network objects.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .exitOverride()
    // Options of a command are unknown before it is loaded.
    .configureHelp({
      subcommandTerm(command) {
        const entry = entries.find((each) => each.name === command.name());
        return `${command.name()} ${entry ? (entry.usage ?? '[options]') : '[command]'}`;
      },
    })
    .configureOutput({
      // Printed below, with advice.
      outputError: () => {},
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
    });

  const named: Command[] = [];
  for (const entry of entries) {
    const command = program.command(entry.name).description(entry.description);
    if (!args.includes(entry.name)) continue;
    const { setUpCommand, run } = await entry.load();
    await setUpCommand(command, addOns);
    command.action(async (...given: unknown[]) => {
      // As its arguments and flags are parsed.
      exitCode = await run({ terminal, addOns }, ...(given as never[]));
    });
    const examples = entry.examples.map(
      (example) => `  ${name} ${example.replace(`| ${PROGRAM} `, `| ${name} `)}`,
    );
    command.addHelpText(
      'after',
      ['\nExamples:', ...examples, `\nMore: ${CLI_PAGE}#${entry.name}`].join('\n'),
    );
    named.push(command);
  }

  const words = helpAsFlag(args);
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

/** Errors after which the help of the command says what to write. */
const SEE_HELP = ['commander.unknownOption', 'commander.unknownCommand', 'commander.missingArgument'];

/** The message of commander in one line, with what to write. */
function usageProblem({ code, message }: CommanderError, name: string, command: Command | undefined): string {
  const line = message.trim().replaceAll('\n', ' ');
  const run = command === undefined ? name : `${name} ${command.name()}`;
  if (command && code === 'commander.excessArguments') {
    const { registeredArguments: known, options, args } = command;
    const word = args[known.length] ?? '';
    const takesFile = known.length === 0 && options.some(({ long }) => long === '--filename');
    return `error: unexpected argument '${word}': ${takesFile ? `use ${run} -f ${word}` : `see ${run} --help`}`;
  }
  return SEE_HELP.includes(code) && !line.includes('Did you mean') ? `${line}: see ${run} --help` : line;
}

/** In the order of the help. */
const CORE_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    description: 'run the operator: the webhook and the controllers',
    examples: ['serve --kubeconfig ~/.kube/config --log-format pretty'],
    load: () => import('./serve.ts'),
  },
  {
    name: 'node-agent',
    description: "run a node's agent: connect the node's Networks to other nodes, and remove leftovers",
    examples: ['node-agent --node-name worker-1'],
    load: () => import('./node-agent.ts'),
  },
  {
    name: 'status',
    description: 'show whether the operator is healthy, and what to do about each problem',
    examples: ['status', 'status -o json'],
    load: () => import('./status/status.ts'),
  },
  {
    name: 'version',
    description: 'print the versions of this program, the operator, the API server and the sidecars',
    examples: ['version', 'version --client'],
    load: () => import('./status/version.ts'),
  },
  {
    name: 'check',
    description: 'explain why a pod or workload is injected or not',
    usage: '[options] [target] [name]',
    examples: [
      'check deploy/web -n shop',
      'check pod/web-0 --to http://reviews:9080/',
      'check network/example-network',
      'check -A',
    ],
    load: () => import('./check/check.ts'),
  },
  {
    name: 'lint',
    description: 'find problems in templates',
    usage: '[options] <file...>',
    examples: ['lint template.yaml', 'lint --envoy envoy.json'],
    load: () => import('./lint/lint.ts'),
  },
  {
    name: 'uninstall',
    description: 'remove the operator and all its objects from the cluster',
    examples: ['uninstall', 'uninstall --force --timeout 10m'],
    load: () => import('./uninstall/uninstall.ts'),
  },
];

/** The commands of the core and of add-ons. */
export function commandsWith(addOns: readonly AddOn[]): readonly CommandEntry[] {
  return [...CORE_COMMANDS, ...addOns.flatMap(({ commands }) => commands)];
}
