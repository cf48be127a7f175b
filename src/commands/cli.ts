import { Command, CommanderError } from 'commander';
import { addServeOptions, type ServeOptions } from '../config.ts';
import { stopSignal } from '../shutdown.ts';
import { VERSION } from '../version.ts';
import { addCheckOptions, type CheckOptions, checkCommand } from './check.ts';
import { addDriftOptions, type DriftOptions, driftCommand } from './drift.ts';
import { addInjectOptions, type InjectOptions, injectCommand } from './inject.ts';
import { addLintOptions, type LintOptions, lintCommand } from './lint.ts';
import { addNodeAgentOptions, type NodeAgentOptions, nodeAgent } from './node-agent.ts';
import { addPolicyOptions, type PolicyCommandOptions, policyCommand } from './policy.ts';
import { serve } from './serve.ts';
import { processTerminal, type Terminal, UsageError } from './terminal.ts';
import { addUninjectOptions, type UninjectOptions, uninjectCommand } from './uninject.ts';

/** 0 fine, 1 findings, 2 usage or failure. */
export type ExitCode = 0 | 1 | 2;

/** Reads the command line and runs what it names. Errors of usage are one line on standard error. */
export async function runCli(
  argv: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = new Command('envoy-initializer')
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

  addServeOptions(
    program
      .command('serve')
      .description('run the webhook and the Network controller')
      .allowExcessArguments(false),
  ).action(async (options: ServeOptions) => {
    exitCode = await serve(options, stopSignal());
  });
  addNodeAgentOptions(
    program
      .command('node-agent')
      .description('keep a node clean of Networks that are gone')
      .allowExcessArguments(false),
  ).action(async (options: NodeAgentOptions) => {
    exitCode = await nodeAgent(options, stopSignal());
  });
  addInjectOptions(
    program
      .command('inject')
      .description('print manifests with the sidecar in their pods')
      .allowExcessArguments(false),
  ).action(async (options: InjectOptions) => {
    exitCode = await injectCommand(options, terminal);
  });
  addUninjectOptions(
    program
      .command('uninject')
      .description('print manifests as they were before inject')
      .allowExcessArguments(false),
  ).action(async (options: UninjectOptions) => {
    exitCode = await uninjectCommand(options, terminal);
  });
  addCheckOptions(
    program.command('check').description('say why a pod or workload is, or is not, injected'),
  ).action(async (target: string | undefined, options: CheckOptions) => {
    exitCode = await checkCommand(target, options, terminal);
  });
  addLintOptions(program.command('lint').description('find the faults of templates')).action(
    async (files: string[], options: LintOptions) => {
      exitCode = await lintCommand(files, options, terminal);
    },
  );
  addPolicyOptions(
    program
      .command('policy')
      .description('print what makes the API server inject a template by itself (Kubernetes 1.36)')
      .allowExcessArguments(false),
  ).action(async (options: PolicyCommandOptions) => {
    exitCode = await policyCommand(options, terminal);
  });

  addDriftOptions(
    program
      .command('drift')
      .description('list pods whose sidecar is missing or stale')
      .allowExcessArguments(false),
  ).action(async (options: DriftOptions) => {
    exitCode = await driftCommand(options, terminal);
  });

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
