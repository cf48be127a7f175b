import { setTimeout as sleep } from 'node:timers/promises';
import { Argument, Option } from 'commander';
import type { CommandContext, SetUpCommand } from '../../../cli/add-on.ts';
import { type Cluster, withCluster } from '../../../cli/cluster.ts';
import { columns, type OutputFormat, outputOption, printOutput } from '../../../cli/io/output.ts';
import { CALLED_AS, type ExitCode, type Terminal } from '../../../cli/io/terminal.ts';
import { lastEvent } from '../../../cli/last-event.ts';
import { oneOf } from '../../../cli/options/option-values.ts';
import { addClusterOptions, type ClusterOptions } from '../../../cli/options/tool-options.ts';
import { liveConfigMap } from '../../../cli/template-source.ts';
import { parseTemplateConfigMap, type TemplateSet } from '../../../injection/template/template-set.ts';
import { CONFIG_MAPS, type ConfigMap } from '../../../kube/api/core-resources.ts';
import { UsageError } from '../../../kube/util/errors.ts';
import { own, ownString } from '../../../util/json.ts';
import { revisionName } from '../controller-revision.ts';
import { POD_STATES, REASONS } from '../plan/pod.ts';
import type { Revisions } from '../plan/revision.ts';
import { PAUSED_KEY } from '../revision-history.ts';
import type { PodGroup, RolloutStatus } from '../rollout-status.ts';
import { readRollout } from './tools.ts';

interface RolloutOptions extends ClusterOptions {
  readonly watch?: boolean;
  readonly output: OutputFormat;
}

/** The field manager of the annotation: a GitOps tool compares the fields of its own manifest only. */
const FIELD_MANAGER = 'envoy-initializer-rollout';
const LOOK_MS = 1_000;
/** Looks without a status, such as after a template was applied. */
const PATIENCE = 20;

/** Reasons in words; the others are counted. */
const MOST_NAMED = 5;

const ACTIONS = ['status', 'pause', 'resume'] as const;

/** Prints the status of the rollout, pauses it, or lets it go on. Exits with 1 if the breaker has stopped it. */
export async function run(
  { terminal }: CommandContext,
  action: string,
  options: RolloutOptions,
): Promise<ExitCode> {
  if (action !== 'status' && options.watch) throw new UsageError('--watch is for status only');
  return await withCluster(options, async (cluster) => {
    if (action === 'status') return await showStatus(cluster, options, terminal);
    await setPaused(cluster, options, action === 'pause');
    terminal.out(`rollout ${action}d\n`);
    return 0;
  });
}

async function setPaused({ client }: Cluster, options: RolloutOptions, paused: boolean): Promise<void> {
  const ref = { namespace: options.operatorNamespace, name: options.configmap };
  const configMap = await liveConfigMap(client, options);
  // What was paused before its strategy was removed can be resumed.
  if (paused || configMap.metadata.annotations?.[PAUSED_KEY] === undefined) templatesOf(configMap, options);
  const patch = { metadata: { annotations: { [PAUSED_KEY]: paused ? 'true' : null } } };
  await client.mergePatch(CONFIG_MAPS, ref, patch, { fieldManager: FIELD_MANAGER });
}

/** A status to show. */
interface Shown {
  readonly revisions: Revisions;
  readonly status: RolloutStatus;
  /** Why the breaker halted the rollout, as the operator's Event says; undefined if it has not, or the Event is gone. */
  readonly why?: string | undefined;
}

/** Shows the status; with --watch, each one until the rollout ends. */
async function showStatus(
  { client }: Cluster,
  options: RolloutOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  let [last, lookedAt] = ['', 0];
  for (;;) {
    const found = await statusOf(client, options);
    if (!found && lookedAt === PATIENCE)
      throw new UsageError(
        'the operator has not published a rollout of the template yet: check that it is running, and has the component "rollout" (docs/install.md)',
      );
    lookedAt = found ? 0 : lookedAt + 1;
    if (found) {
      const lines = linesOf(found);
      if (lines.join('\n') !== last) {
        if (last !== '' && options.output === 'text') terminal.out('\n');
        printOutput(terminal, options.output, JSON.parse(JSON.stringify(detailsOf(found))), lines);
      }
      last = lines.join('\n');
      const { phase } = found.status;
      if (!options.watch || phase === 'done' || phase === 'halted') return exitCodeOf(found);
    }
    await sleep(LOOK_MS);
  }
}

/** 1 if the rollout is halted, also while pods go back. */
export function exitCodeOf({ revisions: { target }, status: { phase } }: Shown): ExitCode {
  return phase === 'halted' || target.state === 'halted' ? 1 : 0;
}

/** The last step of the leader; undefined before it has made one with the templates of the ConfigMap. */
async function statusOf(client: Cluster['client'], options: RolloutOptions): Promise<Shown | undefined> {
  const set = templatesOf(await liveConfigMap(client, options), options);
  const { revisions, status } = await readRollout(client, options, set);
  if (!revisions || !status) return undefined;
  const { target } = revisions;
  if (target.state !== 'halted') return { revisions, status };
  const revision = revisionName(options.configmap, target.set.hash);
  const last = await lastEvent(client, options.operatorNamespace, 'reason=RolloutHalted', (event) =>
    [undefined, revision].includes(ownString(own(event, 'related'), 'name')),
  );
  return { revisions, status, why: last?.note };
}

/** @throws UsageError if the templates are invalid, or there is no strategy for running pods. */
function templatesOf(
  { data = {} }: ConfigMap,
  { operatorNamespace, configmap }: RolloutOptions,
): TemplateSet {
  const where = `ConfigMap ${operatorNamespace}/${configmap}`;
  const parsed = parseTemplateConfigMap(data);
  if ('faults' in parsed) throw new UsageError(`${where} is invalid: ${CALLED_AS} lint lists its problems`);
  if (parsed.set.rollout === undefined)
    throw new UsageError(
      `${where} has no strategy for running pods: add the key rollout with mode: in-place (docs/rollout.md)`,
    );
  return parsed.set;
}

function linesOf({ revisions: { target, promoted }, status, why }: Shown): readonly string[] {
  const { phase, groups, failing } = status;
  const countOf = (isMeant: (group: PodGroup) => boolean) =>
    groups.filter(isMeant).reduce((sum, { count }) => sum + count, 0);
  const said = POD_STATES.flatMap((state) => {
    const count = countOf(({ is }) => is === state);
    return count > 0 ? [`${count} ${state}`] : [];
  });
  const explained = Object.entries(REASONS).flatMap(([reason, words]) => {
    const count = countOf((group) => group.why === reason);
    return count > 0 ? [[`  ${reason}`, String(count), words]] : [];
  });
  const named = groups.flatMap(({ message, pods: [pod] }) => (message ? [`${pod}: ${message}`] : []));
  return [
    ...columns([
      ['phase', phase],
      ['template', `${target.set.hash.slice(0, 12)} ${target.state}`],
      ...(promoted === target ? [] : [['new pods get', promoted.set.hash.slice(0, 12)]]),
      ['pods', `${countOf(() => true)}${said.length > 0 ? `: ${said.join(', ')}` : ''}`],
      ...(why === undefined ? [] : [['halted', why]]),
    ]),
    ...columns(explained),
    ...named.slice(0, MOST_NAMED),
    ...(named.length > MOST_NAMED ? [`and ${named.length - MOST_NAMED} other reasons: use -o json`] : []),
    ...failing.map((each) => `failing   ${each.pod}: ${each.why}`),
    ...(target.state === 'halted'
      ? ['apply a corrected template, or the previous one (docs/rollout.md)']
      : []),
  ];
}

function detailsOf({ revisions: { target, promoted }, status: { phase, groups, failing }, why }: Shown) {
  return {
    phase,
    template: { hash: target.set.hash, state: target.state, canary: target.canary },
    newPodsGet: promoted.set.hash,
    ...(why !== undefined && { halted: why }),
    failing,
    groups,
  };
}

export const setUpCommand: SetUpCommand = (command) => {
  command
    .addArgument(
      new Argument('[action]', 'what to do')
        .choices(ACTIONS)
        .argParser(oneOf(...ACTIONS))
        .default('status'),
    )
    .addOption(new Option('-w, --watch', 'print the status each time it changes, until the rollout ends'))
    .addOption(outputOption('text', 'json', 'yaml'));
  addClusterOptions(command);
};
