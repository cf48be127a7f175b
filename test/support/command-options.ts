import { Command } from 'commander';
import { addCheckOptions } from '../../src/commands/check.ts';
import { addDriftOptions } from '../../src/commands/drift.ts';
import { addInjectOptions } from '../../src/commands/inject.ts';
import { addLintOptions } from '../../src/commands/lint.ts';
import { addNodeAgentOptions } from '../../src/commands/node-agent.ts';
import { addPolicyOptions } from '../../src/commands/policy.ts';
import { addUninjectOptions } from '../../src/commands/uninject.ts';
import { addServeOptions } from '../../src/config.ts';

/** Each command of the binary, with its options. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: addServeOptions(new Command()),
  'node-agent': addNodeAgentOptions(new Command()),
  inject: addInjectOptions(new Command()),
  uninject: addUninjectOptions(new Command()),
  check: addCheckOptions(new Command()),
  lint: addLintOptions(new Command()),
  policy: addPolicyOptions(new Command()),
  drift: addDriftOptions(new Command()),
};

/** The flags of a command, short and long; undefined where there is no such command. */
export function optionsOf(command: string): readonly string[] | undefined {
  if (command.startsWith('-')) return [];
  const options = COMMANDS[command]?.options;
  return options && [...options.flatMap(({ short, long }) => [short ?? '', long ?? '']), '-h', '--help'];
}
