import type { Command } from 'commander';
import type { DriftOptions } from '../addons/drift/cli/drift.ts';
import type { PolicyCommandOptions } from '../addons/policies/cli/policy.ts';
import type { PlanOptions } from '../addons/rollout/cli/plan.ts';
import type { RolloutOptions } from '../addons/rollout/cli/rollout.ts';
import type { NodeAgentOptions } from '../networks/agent/node-agent.ts';
import type { BugReportOptions } from './bug-report/bug-report.ts';
import type { CheckOptions } from './check/check.ts';
import type { InjectOptions } from './inject.ts';
import type { ExitCode, Terminal } from './io/terminal.ts';
import type { LintOptions } from './lint/lint.ts';
import type { ServeOptions } from './options/serve-options.ts';
import type { StatusOptions } from './status/status.ts';
import type { VersionOptions } from './status/version.ts';
import type { UninjectOptions } from './uninject.ts';
import type { UninstallOptions } from './uninstall/uninstall.ts';

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
  /** Command lines, without the name of the program. */
  readonly examples: readonly string[];
  /** Loads the modules of the command. The program calls it only for the command that runs, to start fast. */
  readonly load: (command: Command, context: CommandContext) => Promise<unknown>;
}

/** In the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    description: 'run the operator: the webhook and the controllers',
    usage: '[options]',
    examples: ['serve --kubeconfig ~/.kube/config --log-format pretty'],
    async load(command) {
      const [{ addServeOptions, unknownVariables }, { serve }, { stopSignal }] = await Promise.all([
        import('./options/serve-options.ts'),
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
    examples: ['node-agent --node-name worker-1'],
    async load(command, { ended }) {
      const [{ addNodeAgentOptions }, { unknownVariables }, { nodeAgent }, { stopSignal }] =
        await Promise.all([
          import('./options/node-agent-options.ts'),
          import('./options/serve-options.ts'),
          import('../networks/agent/node-agent.ts'),
          import('../kube/manager/shutdown.ts'),
        ]);
      addNodeAgentOptions(command.allowExcessArguments(false)).action(async (options: NodeAgentOptions) => {
        const ignoredVariables = unknownVariables(process.env, command.options);
        ended(await nodeAgent({ ...options, ignoredVariables }, stopSignal()));
      });
    },
  },
  {
    name: 'status',
    description: 'show whether the operator is well, and what to do about each problem',
    usage: '[options]',
    examples: ['status', 'status -o json'],
    async load(command, { terminal, ended }) {
      const { addStatusOptions, statusCommand } = await import('./status/status.ts');
      addStatusOptions(command.allowExcessArguments(false)).action(async (options: StatusOptions) =>
        ended(await statusCommand(options, terminal)),
      );
    },
  },
  {
    name: 'version',
    description: 'print the versions of this program, the operator, the API server and the sidecars',
    usage: '[options]',
    examples: ['version', 'version --client'],
    async load(command, { terminal, ended }) {
      const { addVersionOptions, versionCommand } = await import('./status/version.ts');
      addVersionOptions(command.allowExcessArguments(false)).action(async (options: VersionOptions) =>
        ended(await versionCommand(options, terminal)),
      );
    },
  },
  {
    name: 'bug-report',
    description: 'write an archive for a bug report: logs, Events and configurations, without secrets',
    usage: '[options]',
    examples: ['bug-report', 'bug-report --file report.tar.gz'],
    async load(command, { terminal, ended }) {
      const { addBugReportOptions, bugReportCommand } = await import('./bug-report/bug-report.ts');
      addBugReportOptions(command.allowExcessArguments(false)).action(async (options: BugReportOptions) =>
        ended(await bugReportCommand(options, terminal)),
      );
    },
  },
  {
    name: 'inject',
    description: 'print manifests with the sidecar in their pods',
    usage: '[options]',
    examples: [
      'inject -f web.yaml | kubectl apply -f -',
      'inject -k overlays/production --template template.yaml',
    ],
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
    examples: ['uninject -f web.yaml | envoy-initializer inject -f -'],
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
    usage: '[options] [target] [name]',
    examples: [
      'check deploy/web -n shop',
      'check -R -f manifests --template template.yaml',
      'check pod/web-0 --to http://reviews:9080/',
      'check network/example-network',
      'check -A',
      'check --pre --overlay cert-manager',
    ],
    async load(command, { terminal, ended }) {
      const { addCheckOptions, checkCommand } = await import('./check/check.ts');
      addCheckOptions(command.allowExcessArguments(false)).action(
        async (kind: string | undefined, name: string | undefined, options: CheckOptions) =>
          ended(await checkCommand(kind, name, options, terminal)),
      );
    },
  },
  {
    name: 'lint',
    description: 'find problems in templates',
    usage: '[options] [file...]',
    examples: ['lint template.yaml', 'lint --server', 'lint --envoy envoy.json'],
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
    examples: ['policy -f template.yaml | kubectl apply -f -'],
    async load(command, { terminal, ended }) {
      const { addPolicyOptions, policyCommand } = await import('../addons/policies/cli/policy.ts');
      addPolicyOptions(command.allowExcessArguments(false)).action(async (options: PolicyCommandOptions) =>
        ended(await policyCommand(options, terminal)),
      );
    },
  },
  {
    name: 'drift',
    description: 'list pods with a missing or stale sidecar',
    usage: '[options]',
    examples: ['drift -A', 'drift -n shop -l app=web -o wide', 'drift -n shop --restart deploy/web'],
    async load(command, { terminal, ended }) {
      const { addDriftOptions, driftCommand } = await import('../addons/drift/cli/drift.ts');
      addDriftOptions(command.allowExcessArguments(false)).action(async (options: DriftOptions) =>
        ended(await driftCommand(options, terminal)),
      );
    },
  },
  {
    name: 'plan',
    description: 'show what a template would do to running pods',
    usage: '[options]',
    examples: ['plan -f template.yaml', 'plan -f template.yaml -n shop'],
    async load(command, { terminal, ended }) {
      const { addPlanOptions, planCommand } = await import('../addons/rollout/cli/plan.ts');
      addPlanOptions(command.allowExcessArguments(false)).action(async (options: PlanOptions) =>
        ended(await planCommand(options, terminal)),
      );
    },
  },
  {
    name: 'rollout',
    description: 'show, pause or resume the rollout of a template to running pods',
    usage: '[options] [action]',
    examples: ['rollout --watch', 'rollout pause'],
    async load(command, { terminal, ended }) {
      const { addRolloutOptions, rolloutCommand } = await import('../addons/rollout/cli/rollout.ts');
      addRolloutOptions(command.allowExcessArguments(false)).action(
        async (action: string, options: RolloutOptions) =>
          ended(await rolloutCommand(action, options, terminal)),
      );
    },
  },
  {
    name: 'uninstall',
    description: 'remove the operator and all its objects from the cluster',
    usage: '[options]',
    examples: ['uninstall', 'uninstall --force --timeout 10m'],
    async load(command, { terminal, ended }) {
      const { addUninstallOptions, uninstallCommand } = await import('./uninstall/uninstall.ts');
      addUninstallOptions(command.allowExcessArguments(false)).action(async (options: UninstallOptions) =>
        ended(await uninstallCommand(options, terminal)),
      );
    },
  },
  {
    name: 'completion',
    description: 'print the script that completes command lines in a shell',
    usage: '<shell>',
    examples: ['completion bash > /etc/bash_completion.d/envoy-initializer'],
    async load(command, { terminal, ended }) {
      const { addCompletionOptions, completionCommand } = await import('./completion/completion.ts');
      addCompletionOptions(command.allowExcessArguments(false)).action(async (shell: string) =>
        ended(await completionCommand(shell, terminal)),
      );
    },
  },
];
