import { type Command, Option } from 'commander';
import { CONFIG_MAPS, type ConfigMap } from '../../kube/api/core-resources.ts';
import { UsageError } from '../../kube/util/usage-error.ts';
import { REASONS } from '../../rollout/core/pod.ts';
import type { Revisions } from '../../rollout/core/revision.ts';
import { type Step, step } from '../../rollout/core/step.ts';
import { PAUSED_KEY } from '../../rollout/revisions.ts';
import { keysFor } from '../../sidecar/keys.ts';
import type { Strategy } from '../../sidecar/template/strategy.ts';
import { parseTemplateSet } from '../../sidecar/template/template-set.ts';
import { type Cluster, withCluster } from '../cluster.ts';
import { type OutputFormat, outputOption, printOutput } from '../output.ts';
import type { ExitCode, Terminal } from '../terminal.ts';
import { addClusterOptions, type ClusterOptions } from '../tool-options.ts';
import { columns } from './columns.ts';
import { readFleet } from './read-fleet.ts';
import { readRevisions } from './read-revisions.ts';

export interface RolloutOptions extends ClusterOptions {
  readonly watch?: boolean;
  readonly output: OutputFormat;
}

/** The field manager of the annotation: a GitOps tool compares the fields of its own manifest only. */
const FIELD_MANAGER = 'envoy-initializer-rollout';
const WATCH_MS = 2_000;

export function addRolloutOptions(command: Command): Command {
  command
    .argument('[action]', 'status, pause or resume', 'status')
    .addOption(new Option('-w, --watch', 'print the status each time it changes, until the rollout ends'))
    .addOption(outputOption());
  return addClusterOptions(command);
}

/** Prints the status of the rollout, pauses it, or lets it go on. Exits with 1 if the breaker has stopped it. */
export async function rolloutCommand(
  action: string,
  options: RolloutOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  if (action !== 'status' && action !== 'pause' && action !== 'resume')
    throw new UsageError(`unknown action ${JSON.stringify(action)}: use status, pause or resume`);
  if (action !== 'status' && options.watch) throw new UsageError('--watch goes with status only');
  return await withCluster(options, async (cluster) => {
    if (action === 'status') return await showStatus(cluster, options, terminal);
    await setPaused(cluster, options, action === 'pause');
    terminal.out(`rollout ${action}d\n`);
    return 0;
  });
}

async function setPaused({ client }: Cluster, options: RolloutOptions, paused: boolean): Promise<void> {
  const ref = { namespace: options.operatorNamespace, name: options.configmap };
  const patch = { metadata: { annotations: { [PAUSED_KEY]: paused ? 'true' : null } } };
  await client.mergePatch(CONFIG_MAPS, ref, patch, { fieldManager: FIELD_MANAGER });
}

async function showStatus(cluster: Cluster, options: RolloutOptions, terminal: Terminal): Promise<ExitCode> {
  let last = '';
  for (;;) {
    const status = await statusOf(cluster, options);
    const lines = linesOf(status);
    if (lines.join('\n') !== last) {
      if (last !== '' && options.output === 'text') terminal.out('\n');
      printOutput(terminal, options.output, { value: JSON.parse(JSON.stringify(detailsOf(status))), lines });
    }
    last = lines.join('\n');
    const { phase } = status.step;
    if (!options.watch || phase === 'done' || phase === 'halted') return phase === 'halted' ? 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  }
}

interface RolloutStatus {
  readonly revisions: Revisions;
  readonly strategy: Strategy;
  readonly step: Step;
}

/** Computes the status from the cluster, as the operator does. */
async function statusOf({ client }: Cluster, options: RolloutOptions): Promise<RolloutStatus> {
  const { operatorNamespace: namespace, configmap: name, annotation } = options;
  const configMap = await client.get(CONFIG_MAPS, { namespace, name });
  const set = setOf(configMap, `${namespace}/${name}`);
  const strategy = set.rollout;
  if (strategy === undefined || strategy.mode === 'new-pods')
    throw new UsageError(
      `ConfigMap ${namespace}/${name} has no rollout strategy for running pods: add the key rollout with mode: in-place`,
    );
  const paused = configMap.metadata.annotations?.[PAUSED_KEY] === 'true';
  const revisions = await readRevisions(client, options, set, paused);
  if (revisions === undefined)
    throw new UsageError('the operator has not written a revision of the template yet: check that it runs');
  const fleet = await readFleet(client, keysFor(annotation), undefined);
  const pods = fleet.map(({ observed, namespace: settings }) => ({
    ...observed,
    namespace: settings,
    isConfigStale: false,
    drainedSince: undefined,
    verdict: undefined,
    blocked: undefined,
  }));
  return { revisions, strategy, step: step(pods, revisions, strategy, Date.now()) };
}

/** @throws UsageError if the templates are invalid. */
function setOf({ data = {} }: ConfigMap, where: string) {
  const parsed = parseTemplateSet(data);
  if ('set' in parsed) return parsed.set;
  throw new UsageError(`ConfigMap ${where} is invalid: envoy-initializer lint lists its problems`);
}

function linesOf({ revisions: { target, promoted }, step: now }: RolloutStatus): readonly string[] {
  const counts = { current: 0, 'under-way': 0, waiting: 0, left: 0, refused: 0 };
  const reasons = new Map<string, number>();
  for (const { is, why } of now.pods) {
    counts[is] += 1;
    if (why !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
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
    ]),
    ...columns(explained),
    ...now.health.failing.map(({ pod, why = '' }) => `failing   ${pod.key}: ${why}`),
  ];
}

function detailsOf({ revisions: { target, promoted }, step: now }: RolloutStatus) {
  return {
    phase: now.phase,
    template: { hash: target.set.hash, state: target.state, canary: target.canary },
    newPodsGet: promoted.set.hash,
    failing: now.health.failing.map(({ pod, why }) => ({ pod: pod.key, why })),
    pods: now.pods.map(({ pod, is, why, message }) => ({ pod: pod.key, is, why, message })),
  };
}
