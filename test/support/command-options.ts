import { Command } from 'commander';
import { addCheckOptions } from '../../src/cli/check/check.ts';
import { addDriftOptions } from '../../src/cli/drift.ts';
import { addInjectOptions } from '../../src/cli/inject.ts';
import { addLintOptions } from '../../src/cli/lint/lint.ts';
import { addNodeAgentOptions } from '../../src/cli/node-agent-options.ts';
import { addPolicyOptions } from '../../src/cli/policy.ts';
import { addPlanOptions } from '../../src/cli/rollout/plan.ts';
import { addRolloutOptions } from '../../src/cli/rollout/rollout.ts';
import { addServeOptions } from '../../src/cli/serve-options.ts';
import { addUninjectOptions } from '../../src/cli/uninject.ts';

/** Each command of the binary, with its options. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: addServeOptions(new Command()),
  'node-agent': addNodeAgentOptions(new Command()),
  inject: addInjectOptions(new Command()),
  uninject: addUninjectOptions(new Command()),
  check: addCheckOptions(new Command()),
  lint: addLintOptions(new Command()),
  policy: addPolicyOptions(new Command()),
  plan: addPlanOptions(new Command()),
  rollout: addRolloutOptions(new Command()),
  drift: addDriftOptions(new Command()),
};

/** The flags of a command, short and long; undefined where there is no such command. */
export function optionsOf(command: string): readonly string[] | undefined {
  if (command.startsWith('-')) return [];
  const options = COMMANDS[command]?.options;
  return options && [...options.flatMap(({ short, long }) => [short ?? '', long ?? '']), '-h', '--help'];
}
