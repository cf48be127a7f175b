import { setTimeout as sleep } from 'node:timers/promises';
import { Argument, type Command, Option } from 'commander';
import type { SetUpCommand } from '../../../cli/add-on.ts';
import { decideOptions } from '../../../cli/check/report-live.ts';
import { type Cluster, withCluster } from '../../../cli/cluster.ts';
import { followInstallation, installationOf } from '../../../cli/installation.ts';
import { columns, type OutputFormat, outputOption, printOutput } from '../../../cli/io/output.ts';
import type { ExitCode, Terminal } from '../../../cli/io/terminal.ts';
import { lastEvent } from '../../../cli/last-event.ts';
import { oneOf } from '../../../cli/options/option-values.ts';
import { addClusterOptions, type ClusterOptions } from '../../../cli/options/tool-options.ts';
import { CALLED_AS } from '../../../cli/program-name.ts';
import { liveConfigMap } from '../../../cli/template-source.ts';
import type { Strategy } from '../../../injection/template/strategy.ts';
import { parseTemplateSet } from '../../../injection/template/template-set.ts';
import { CONFIG_MAPS, type ConfigMap } from '../../../kube/api/core-resources.ts';
import { UsageError } from '../../../kube/util/usage-error.ts';
import { maxTimerMs } from '../../../kube/workqueue/clock.ts';
import { Trigger } from '../../../kube/workqueue/trigger.ts';
import { own, ownString } from '../../../util/json.ts';
import { revisionName } from '../controller-revision.ts';
import { REASONS } from '../core/pod.ts';
import type { Revisions } from '../core/revision.ts';
import { type Step, step } from '../core/step.ts';
import { claimed } from '../memory.ts';
import { PAUSED_KEY } from '../revision-history.ts';
import { kubeletVersions, servesResize } from './read-fleet.ts';
import { findingsIn, revisionsIn, storedIn } from './read-revisions.ts';
import { isOlderIn, type RolloutSource, readingSource, watchingSource } from './rollout-source.ts';
import { Verdicts } from './verdicts.ts';

export interface RolloutOptions extends ClusterOptions {
  readonly watch?: boolean;
  readonly output: OutputFormat;
}

/** The field manager of the annotation: a GitOps tool compares the fields of its own manifest only. */
const FIELD_MANAGER = 'envoy-initializer-rollout';
const BURST_MS = 1_000;

/** Reasons in words; the others are counted. */
const MOST_NAMED = 5;

const ACTIONS = ['status', 'pause', 'resume'] as const;

export function addRolloutOptions(command: Command): Command {
  command
    .addArgument(
      new Argument('[action]', 'what to do')
        .choices(ACTIONS)
        .argParser(oneOf(...ACTIONS))
        .default('status'),
    )
    .addOption(new Option('-w, --watch', 'print the status each time it changes, until the rollout ends'))
    .addOption(outputOption('text', 'json', 'yaml'));
  return addClusterOptions(command);
}

/** Prints the status of the rollout, pauses it, or lets it go on. Exits with 1 if the breaker has stopped it. */
export async function rolloutCommand(
  action: string,
  options: RolloutOptions,
  terminal: Terminal,
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
  if (paused || configMap.metadata.annotations?.[PAUSED_KEY] === undefined) strategyOf(configMap, options);
  const patch = { metadata: { annotations: { [PAUSED_KEY]: paused ? 'true' : null } } };
  await client.mergePatch(CONFIG_MAPS, ref, patch, { fieldManager: FIELD_MANAGER });
}

async function showStatus({ client }: Cluster, given: RolloutOptions, terminal: Terminal): Promise<ExitCode> {
  const installation = await installationOf(client, given.operatorNamespace);
  const options = followInstallation({ ...given, requireAnnotation: true }, installation);
  const [kubelets, canResize] = await Promise.all([kubeletVersions(client), servesResize(client)]);
  const verdicts = new Verdicts({ client, decide: decideOptions(options), kubelets, canResize });
  let last = '';
  const show = (status: RolloutStatus): void => {
    const lines = linesOf(status);
    if (lines.join('\n') === last) return;
    if (last !== '' && options.output === 'text') terminal.out('\n');
    printOutput(terminal, options.output, { value: JSON.parse(JSON.stringify(detailsOf(status))), lines });
    last = lines.join('\n');
  };
  // The first one is read also with --watch: it says at once what is wrong.
  const first = await statusOf(readingSource(client, options), options, verdicts);
  show(await explained(client, options, first));
  const phase =
    options.watch && !hasEnded(first) ? await follow(client, options, verdicts, show) : first.step.phase;
  return phase === 'halted' ? 1 : 0;
}

function hasEnded({ step: { phase } }: RolloutStatus): boolean {
  return phase === 'done' || phase === 'halted';
}

/** Shows each status until the rollout ends, and returns its phase. */
async function follow(
  client: Cluster['client'],
  options: RolloutOptions,
  verdicts: Verdicts,
  show: (status: RolloutStatus) => void,
): Promise<Step['phase']> {
  const end = new AbortController();
  const changes = new Trigger();
  let refused: unknown;
  const onChange = (err?: unknown) => {
    refused ??= err;
    if (refused !== undefined) end.abort();
    changes.fire();
  };
  // The timers of watches do not keep the process alive.
  const alive = setInterval(() => {}, maxTimerMs);
  try {
    const source = await watchingSource(client, options, onChange, end.signal);
    for (;;) {
      if (refused !== undefined) throw refused;
      const status = await statusOf(source, options, verdicts);
      show(await explained(client, options, status));
      if (hasEnded(status)) return status.step.phase;
      await changes.next(status.step.wakeInMs ?? maxTimerMs, end.signal);
      // Changes come in bursts, and each status looks at all pods.
      await sleep(BURST_MS);
    }
  } finally {
    clearInterval(alive);
    end.abort();
  }
}

interface RolloutStatus {
  readonly revisions: Revisions;
  readonly strategy: Strategy;
  readonly step: Step;
  /** Why the breaker has halted it, as the operator's Event says; undefined if it has not, or the Event is gone. */
  readonly why?: string | undefined;
}

/** Adds why a rollout is halted. */
async function explained(
  client: Cluster['client'],
  { operatorNamespace, configmap }: RolloutOptions,
  status: RolloutStatus,
): Promise<RolloutStatus> {
  const { target } = status.revisions;
  if (target.state !== 'halted') return status;
  const revision = revisionName(configmap, target.set.hash);
  const last = await lastEvent(client, operatorNamespace, 'reason=RolloutHalted', (event) =>
    [undefined, revision].includes(ownString(own(event, 'related'), 'name')),
  );
  return { ...status, why: last?.note };
}

/** Computes the status from the cluster, as the operator does. */
async function statusOf(
  source: RolloutSource,
  options: RolloutOptions,
  verdicts: Verdicts,
): Promise<RolloutStatus> {
  const configMap = await source.configMap();
  const { set, strategy } = strategyOf(configMap, options);
  const paused = configMap.metadata.annotations?.[PAUSED_KEY] === 'true';
  const objects = await source.revisions();
  const revisions = revisionsIn(objects, options, set, paused);
  if (revisions === undefined)
    throw new UsageError(
      'the operator has not written a revision of the template yet: check that it runs, and that deploy/overlays/rollout is applied',
    );
  const { target, promoted } = revisions;
  const to = target.state === 'halted' ? promoted.set : target.set;
  const known = [set, ...storedIn(objects, options).map((each) => each.set)];
  const findings = findingsIn(objects, options, target.set);
  const [found, configs] = [await source.pods(), await source.configs()];
  for (;;) {
    const pods = found.map(({ observed, namespace }) => ({
      ...observed,
      namespace,
      isConfigStale: isOlderIn(configs, observed),
      ...claimed(observed, Date.now()),
      ...(findings.get(observed.uid) ?? { verdict: verdicts.of(observed.uid, to) }),
    }));
    const now = step(pods, revisions, strategy, Date.now());
    const begun = now.pods.flatMap(({ pod, is }) => (is === 'under-way' ? [pod] : []));
    // Others take the places of pods that cannot be changed.
    if (!(await verdicts.judge(begun, to, known))) return { revisions, strategy, step: now };
  }
}

/** @throws UsageError if the templates are invalid, or there is no strategy for running pods. */
function strategyOf({ data = {} }: ConfigMap, { operatorNamespace, configmap }: RolloutOptions) {
  const where = `ConfigMap ${operatorNamespace}/${configmap}`;
  const parsed = parseTemplateSet(data);
  if ('faults' in parsed) throw new UsageError(`${where} is invalid: ${CALLED_AS} lint lists its problems`);
  const { set } = parsed;
  const strategy = set.rollout;
  if (strategy === undefined || strategy.mode === 'new-pods')
    throw new UsageError(
      `${where} has no strategy for running pods: add the key rollout with mode: in-place (docs/rollout.md)`,
    );
  return { set, strategy };
}

function linesOf({
  revisions: { target, promoted },
  step: now,
  why: halt,
}: RolloutStatus): readonly string[] {
  const counts = { current: 0, 'under-way': 0, waiting: 0, left: 0, refused: 0 };
  const reasons = new Map<string, number>();
  const messages = new Map<string, string>();
  for (const { pod, is, why, message } of now.pods) {
    counts[is] += 1;
    if (why !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + 1);
    if (message !== undefined && !messages.has(message)) messages.set(message, pod.key);
  }
  const named = [...messages].map(([message, pod]) => `${pod}: ${message}`);
  const said = Object.entries(counts).flatMap(([is, count]) => (count > 0 ? [`${count} ${is}`] : []));
  const explained = Object.entries(REASONS).flatMap(([why, words]) => {
    const count = reasons.get(why);
    return count === undefined ? [] : [[`  ${why}`, String(count), words]];
  });
  return [
    ...columns([
      ['phase', now.phase],
      ['template', `${target.set.hash.slice(0, 12)} ${target.state}`],
      ...(promoted === target ? [] : [['new pods get', promoted.set.hash.slice(0, 12)]]),
      ['pods', `${now.pods.length}${said.length > 0 ? `: ${said.join(', ')}` : ''}`],
      ...(halt === undefined ? [] : [['halted', halt]]),
    ]),
    ...columns(explained),
    ...named.slice(0, MOST_NAMED),
    ...(named.length > MOST_NAMED ? [`and ${named.length - MOST_NAMED} other reasons: use -o json`] : []),
    ...now.health.failing.map(({ pod, why = '' }) => `failing   ${pod.key}: ${why}`),
    ...(target.state === 'halted'
      ? ['apply a corrected template, or the previous one (docs/rollout.md)']
      : []),
  ];
}

function detailsOf({ revisions: { target, promoted }, step: now, why: halt }: RolloutStatus) {
  return {
    phase: now.phase,
    template: { hash: target.set.hash, state: target.state, canary: target.canary },
    newPodsGet: promoted.set.hash,
    ...(halt !== undefined && { halted: halt }),
    failing: now.health.failing.map(({ pod, why }) => ({ pod: pod.key, why })),
    pods: now.pods.map(({ pod, is, why, message }) => ({ pod: pod.key, is, why, message })),
  };
}

export const setUpCommand: SetUpCommand = (command, { terminal, ended }) => {
  addRolloutOptions(command).action(async (action: string, options: RolloutOptions) =>
    ended(await rolloutCommand(action, options, terminal)),
  );
};
