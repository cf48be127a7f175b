import type { Command } from 'commander';
import type { TemplateSet } from '../injection/template/template-set.ts';
import type { KubeClient } from '../kube/client/client.ts';
import type { Manager } from '../kube/manager/manager.ts';
import type { SetUpNodePart } from '../networks/agent/node-agent.ts';
import type { SetUpProvider } from '../networks/providers.ts';
import type { Core, OperatorOptions, OperatorPart } from '../operator/core.ts';
import type { ObjectReport } from './check/check-report.ts';
import type { ExitCode, Terminal } from './io/terminal.ts';
import type { FlagSpecs, ParsedFlags } from './options/option-values.ts';
import type { ServeOptions } from './options/serve-options.ts';
import type { ClusterOptions } from './options/tool-options.ts';
import type { StatusFacts } from './status/facts.ts';
import type { StatusRow } from './status/rows.ts';
import type { SurveyParts } from './survey.ts';

/** What can be left out of the program. The core works without it, and gets it from `program.ts`. */
export interface AddOn {
  readonly name: string;
  /** Its flags of `serve`. */
  readonly flags: FlagSpecs;
  readonly commands: readonly CommandEntry[];
  /** Loads its part of `serve`. */
  readonly operator?: () => Promise<OperatorPart>;
  /** Loads its provider of Networks. */
  readonly provider?: () => Promise<(options: OperatorOptions) => SetUpProvider>;
  /** Loads its part of the node agent. */
  readonly nodePart?: () => Promise<SetUpNodePart>;
  /** Loads what it adds to the commands of the core. */
  readonly tools?: () => Promise<ToolParts>;
}

/** What an add-on adds to the commands of the core. */
export interface ToolParts extends SurveyParts {
  readonly check?: CheckParts;
  /** Its lines of `status`. */
  readonly status?: (client: KubeClient, facts: StatusFacts) => Promise<readonly StatusRow[]>;
  /** What `lint` says about a template without faults. */
  readonly lint?: (
    set: TemplateSet,
    options: Pick<ClusterOptions, 'annotation' | 'operatorNamespace'>,
  ) => readonly string[];
  /** What `uninstall` leaves in the cluster, in sentences. */
  readonly staying?: (client: KubeClient) => Promise<readonly string[]>;
}

export interface CheckParts {
  readonly addOptions?: (command: Command) => void;
  /** The answer to a question about something else than injection; undefined if it is none of its own. */
  readonly question?: (
    target: string | undefined,
    options: ClusterOptions,
  ) => ((client: KubeClient, namespace: string) => Promise<ObjectReport>) | undefined;
  /** Whether the API server injects pods itself, as far as the user may see. */
  readonly injectsWithoutWebhook?: (client: KubeClient) => Promise<boolean>;
}

/** What each command gets. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly addOns: readonly AddOn[];
}

/** What the module of a command exports. */
export interface CommandModule {
  /** Adds the flags and arguments. */
  readonly setUpCommand: SetUpCommand;
  /** `given`: the arguments, the flags, and the command itself. */
  readonly run: (context: CommandContext, ...given: never[]) => Promise<ExitCode>;
}

export type SetUpCommand = (command: Command, addOns: readonly AddOn[]) => unknown;

/** A command of the program. */
export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  /** What follows the name in the help of the program (default: `[options]`). */
  readonly usage?: string;
  /** Command lines, without the name of the program. */
  readonly examples: readonly string[];
  /** Loads the modules of the command. The program calls it only for the command that runs, to start fast. */
  readonly load: () => Promise<CommandModule>;
}

/** Defines an add-on whose part of `serve` gets its own flags beside those of the core. */
export function defineAddOn<F extends FlagSpecs>(
  flags: F,
  addOn: Omit<AddOn, 'flags' | 'operator' | 'provider'> & {
    readonly operator?: () => Promise<
      (manager: Manager, core: Core, options: ServeOptions & ParsedFlags<F>) => void
    >;
    readonly provider?: () => Promise<(options: ServeOptions & ParsedFlags<F>) => SetUpProvider>;
  },
): AddOn {
  // `serve` parses the flags of all add-ons, so that its options have them.
  return { ...addOn, flags } as AddOn;
}

/** Loads what the add-ons add to the commands of the core. */
export async function toolsOf(addOns: readonly AddOn[]): Promise<readonly ToolParts[]> {
  return await Promise.all(addOns.flatMap(({ tools }) => tools?.() ?? []));
}
