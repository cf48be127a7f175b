import type { Command } from 'commander';
import type { SetUpCommand } from '../../../cli/add-on.ts';
import { type Cluster, withCluster } from '../../../cli/cluster.ts';
import { followInstallation, installationOf } from '../../../cli/installation.ts';
import { type Column, type OutputFormat, outputOption, printOutput } from '../../../cli/io/output.ts';
import type { ExitCode, Terminal } from '../../../cli/io/terminal.ts';
import { serveOption } from '../../../cli/options/serve-options.ts';
import {
  addClusterOptions,
  addScopeOptions,
  addTemplateFile,
  type ClusterOptions,
  type ScopeOptions,
} from '../../../cli/options/tool-options.ts';
import { templatesOfCluster, templatesOfFile } from '../../../cli/template-source.ts';
import { keysFor } from '../../../injection/keys.ts';
import type { Strategy } from '../../../injection/template/strategy.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { isForbidden } from '../../../kube/api/api-error.ts';
import { type Forecast, type ForecastPod, forecast, outlookLine } from '../core/forecast.ts';
import { setWith } from '../core/history.ts';
import { podChange } from '../pod-change.ts';
import { type FleetPod, kubeletVersions, readFleet, servesResize } from './read-fleet.ts';
import { findingsIn, listRevisions, storedIn } from './read-revisions.ts';

export interface PlanOptions extends ClusterOptions, ScopeOptions {
  readonly filename: string;
  readonly requireAnnotation: boolean;
  readonly output: OutputFormat;
}

/** What is shown if the file has no strategy for running pods: all that could be done. */
const WITHOUT_STRATEGY: Pick<Strategy, 'mode' | 'singleReplica'> = {
  mode: 'in-place-or-replace',
  singleReplica: 'leave',
};

export function addPlanOptions(command: Command): Command {
  addTemplateFile(addScopeOptions(command, 'pods', 'all namespaces'))
    .addOption(serveOption('require-annotation'))
    .addOption(outputOption('table', 'wide', 'name', 'json', 'yaml'));
  return addClusterOptions(command);
}

/** Prints what a template would do to the running pods of the cluster. Changes nothing. */
export async function planCommand(options: PlanOptions, terminal: Terminal): Promise<ExitCode> {
  const set = await templatesOfFile(terminal, options.filename);
  const hasStrategy = set.rollout !== undefined && set.rollout.mode !== 'new-pods';
  const strategy = hasStrategy && set.rollout ? set.rollout : WITHOUT_STRATEGY;
  const result = await withCluster(options, async (cluster) => {
    const pods = await forecastPods(cluster, options, set);
    return { ...forecast(pods, set, strategy), undrained: pods.filter(({ canDrain }) => !canDrain).length };
  });
  printOutput(terminal, options.output, {
    value: JSON.parse(JSON.stringify({ ...result, mode: set.rollout?.mode ?? 'new-pods' })),
    list: {
      rows: result.workloads,
      columns: COLUMNS,
      nameOf: ({ workload }) => workload,
      summary: outlookLine(result.total),
    },
  });
  if (result.undrained > 0 && result.total.inPlace > 0)
    terminal.err(
      `${result.undrained} of these pods cannot be drained, and lose requests while their sidecar restarts: their template has no file for the annotation drain\n`,
    );
  if (!hasStrategy)
    terminal.err(
      'the file has no rollout strategy for running pods: they keep their sidecar until they are recreated\n',
    );
  return result.total.refused > 0 ? 1 : 0;
}

async function forecastPods(cluster: Cluster, given: PlanOptions, set: TemplateSet) {
  const installation = await installationOf(cluster.client, given.operatorNamespace);
  const options = followInstallation(given, installation);
  const { annotation, requireAnnotation, operatorNamespace } = options;
  const keys = keysFor(annotation);
  const [kubelets, canResize, fleet, adopted, objects] = await Promise.all([
    kubeletVersions(cluster.client),
    servesResize(cluster.client),
    readFleet(cluster.client, keys, options.namespace, options.selector),
    templatesOfCluster(cluster.client, options),
    listRevisions(cluster.client, options).catch(emptyIfForbidden),
  ]);
  const stored = storedIn(objects, options);
  const known = [adopted, ...stored.map((each) => each.set)];
  // Those of other templates are old, and those of halted ones are about the way back.
  const isHalted = stored.some(({ state, set: { hash } }) => state === 'halted' && hash === set.hash);
  const isTried = set.hash === adopted.hash && !isHalted;
  const findings = isTried ? findingsIn(objects, options, set) : new Map<string, never>();
  const decide = { keys, requireAnnotation, operatorNamespace };
  const verdictOf = ({ pod, namespace, observed }: FleetPod): ForecastPod['verdict'] => {
    const found = findings.get(observed.uid)?.verdict;
    if (found) return found;
    const from = setWith(observed.status, known);
    const kubelet = kubelets.get(observed.node);
    const change = podChange(pod, namespace, set, decide, { from, kubelet, canResize });
    return 'why' in change ? { how: change.how, why: change.why } : undefined;
  };
  return fleet
    .filter(({ observed }) => !observed.isGoing)
    .map((each) => ({
      ...each.observed,
      namespace: each.namespace,
      workload: each.workload,
      verdict: verdictOf(each),
    }));
}

function emptyIfForbidden(error: unknown): readonly [] {
  if (isForbidden(error)) return [];
  throw error;
}

type Row = Forecast['workloads'][number];

const COLUMNS: readonly Column<Row>[] = [
  { name: 'WORKLOAD', of: ({ workload }) => workload },
  { name: 'PODS', of: ({ pods }) => String(pods) },
  { name: 'IN PLACE', of: ({ inPlace }) => String(inPlace) },
  { name: 'REPLACED', of: ({ replaced }) => String(replaced) },
  { name: 'LEFT', of: ({ left }) => String(sum(Object.values(left))) },
  { name: 'REFUSED', of: ({ refused }) => String(refused) },
  { name: 'CURRENT', of: ({ current }) => String(current) },
  { name: 'WHY', of: ({ left, why }) => [...Object.keys(left), ...why].join('; ') },
];

function sum(counts: readonly number[]): number {
  return counts.reduce((all, each) => all + each, 0);
}

export const setUpCommand: SetUpCommand = (command, { terminal, ended }) => {
  addPlanOptions(command.allowExcessArguments(false)).action(async (options: PlanOptions) =>
    ended(await planCommand(options, terminal)),
  );
};
