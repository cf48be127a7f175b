import type { Command } from 'commander';
import type { NodeAgentOptions } from '../node-agent/node-agent.ts';
import type { CheckOptions } from './check/check.ts';
import type { DriftOptions } from './drift.ts';
import type { InjectOptions } from './inject.ts';
import type { LintOptions } from './lint/lint.ts';
import type { PolicyCommandOptions } from './policy.ts';
import type { PlanOptions } from './rollout/plan.ts';
import type { RolloutOptions } from './rollout/rollout.ts';
import type { ServeOptions } from './serve-options.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import type { UninjectOptions } from './uninject.ts';

/** What each command gets. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** Receives the exit code. */
  readonly ended: (code: ExitCode) => void;
}

/** A command of the program. */
interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** What follows the name in the help of the program. */
  readonly usage: string;
  /** Loads the modules of the command. The program calls it only for the command that runs, to start fast. */
  readonly load: (command: Command, context: CommandContext) => Promise<unknown>;
}

/** In the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    description: 'run the operator: the webhook and the controllers',
    usage: '[options]',
    async load(command) {
      const [{ addServeOptions, unknownVariables }, { serve }, { stopSignal }] = await Promise.all([
        import('./serve-options.ts'),
        import('../operator/serve.ts'),
        import('../kube/manager/shutdown.ts'),
      ]);
      addServeOptions(command.allowExcessArguments(false)).action(async (options: ServeOptions) => {
        const ignoredVariables = unknownVariables(process.env, command.options);
        // process.exit: a shutdown step that timed out must not keep the process alive.
        process.exit(await serve({ ...options, ignoredVariables }, stopSignal()));
      });
    },
  },
  {
    name: 'node-agent',
    description: 'run the agent of a node: connect its Networks with other nodes, and remove leftovers',
    usage: '[options]',
    async load(command, { ended }) {
      const [{ addNodeAgentOptions }, { nodeAgent }, { stopSignal }] = await Promise.all([
        import('./node-agent-options.ts'),
        import('../node-agent/node-agent.ts'),
        import('../kube/manager/shutdown.ts'),
      ]);
      addNodeAgentOptions(command.allowExcessArguments(false)).action(async (options: NodeAgentOptions) =>
        ended(await nodeAgent(options, stopSignal())),
      );
    },
  },
  {
    name: 'inject',
    description: 'print manifests with the sidecar in their pods',
    usage: '[options]',
    async load(command, { terminal, ended }) {
      const { addInjectOptions, injectCommand } = await import('./inject.ts');
      addInjectOptions(command.allowExcessArguments(false)).action(async (options: InjectOptions) =>
        ended(await injectCommand(options, terminal)),
      );
    },
  },
  {
    name: 'uninject',
    description: 'print manifests as they were before inject',
    usage: '[options]',
    async load(command, { terminal, ended }) {
      const { addUninjectOptions, uninjectCommand } = await import('./uninject.ts');
      addUninjectOptions(command.allowExcessArguments(false)).action(async (options: UninjectOptions) =>
        ended(await uninjectCommand(options, terminal)),
      );
    },
  },
  {
    name: 'check',
    description: 'explain why a pod or workload is injected or not',
    usage: '[options] [target]',
    async load(command, { terminal, ended }) {
      const { addCheckOptions, checkCommand } = await import('./check/check.ts');
      addCheckOptions(command).action(async (target: string | undefined, options: CheckOptions) =>
        ended(await checkCommand(target, options, terminal)),
      );
    },
  },
  {
    name: 'lint',
    description: 'find problems in templates',
    usage: '[options] <file...>',
    async load(command, { terminal, ended }) {
      const { addLintOptions, lintCommand } = await import('./lint/lint.ts');
      addLintOptions(command).action(async (files: string[], options: LintOptions) =>
        ended(await lintCommand(files, options, terminal)),
      );
    },
  },
  {
    name: 'policy',
    description: 'print admission policies that inject a template in the API server (Kubernetes 1.36)',
    usage: '[options]',
    async load(command, { terminal, ended }) {
      const { addPolicyOptions, policyCommand } = await import('./policy.ts');
      addPolicyOptions(command.allowExcessArguments(false)).action(async (options: PolicyCommandOptions) =>
        ended(await policyCommand(options, terminal)),
      );
    },
  },
  {
    name: 'drift',
    description: 'list pods with a missing or stale sidecar',
    usage: '[options]',
    async load(command, { terminal, ended }) {
      const { addDriftOptions, driftCommand } = await import('./drift.ts');
      addDriftOptions(command.allowExcessArguments(false)).action(async (options: DriftOptions) =>
        ended(await driftCommand(options, terminal)),
      );
    },
  },
  {
    name: 'plan',
    description: 'show what a template would do to running pods',
    usage: '[options]',
    async load(command, { terminal, ended }) {
      const { addPlanOptions, planCommand } = await import('./rollout/plan.ts');
      addPlanOptions(command.allowExcessArguments(false)).action(async (options: PlanOptions) =>
        ended(await planCommand(options, terminal)),
      );
    },
  },
  {
    name: 'rollout',
    description: 'show, pause or resume the rollout of a template to running pods',
    usage: '[options] [action]',
    async load(command, { terminal, ended }) {
      const { addRolloutOptions, rolloutCommand } = await import('./rollout/rollout.ts');
      addRolloutOptions(command.allowExcessArguments(false)).action(
        async (action: string, options: RolloutOptions) =>
          ended(await rolloutCommand(action, options, terminal)),
      );
    },
  },
];
