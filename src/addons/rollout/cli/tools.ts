import type { ToolParts } from '../../../cli/add-on.ts';
import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { CALLED_AS } from '../../../cli/program-name.ts';
import type { StatusFacts } from '../../../cli/status/facts.ts';
import {
  about,
  type CheckResult,
  count,
  metricsOf,
  noMetrics,
  none,
  note,
  ok,
  problem,
  rolloutPods,
} from '../../../cli/status/rows.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { PAUSED_KEY } from '../revision-history.ts';
import { readRevisions } from './read-revisions.ts';

/** What rollouts add to the commands of the core. */
export const tools: ToolParts = {
  check: { promoted },
  status: async (_, facts) => [{ check: 'rollout', ...verdict(facts) }],
  underWay,
};

async function promoted(
  client: KubeClient,
  options: ClusterOptions,
  set: TemplateSet,
): Promise<TemplateSet | undefined> {
  const revisions = await readRevisions(client, options, set);
  return revisions?.promoted === revisions?.target ? undefined : revisions?.promoted.set;
}

async function underWay(
  client: KubeClient,
  options: ClusterOptions,
  wanted: TemplateSet,
): Promise<string | undefined> {
  const revisions = await readRevisions(client, options, wanted);
  if (revisions === undefined) return undefined;
  const { set, state } = revisions.target;
  return `a rollout brings template ${set.hash.slice(0, 12)} (${state}) to running pods: ${CALLED_AS} rollout shows how far it is`;
}

function verdict(facts: StatusFacts): CheckResult {
  return about(facts.template, (live) => {
    if (live?.rollout === undefined) return none('the ConfigMap has no key rollout');
    const pages = metricsOf(facts);
    if (pages.length === 0) return noMetrics(facts);
    if (pages.some((metrics) => metrics.value('envoy_initializer_rollout_halted') === 1))
      return problem('the breaker has halted it', `see ${CALLED_AS} rollout`);
    const [changing, waiting] = [rolloutPods(facts, 'under-way'), rolloutPods(facts, 'waiting')];
    const isPaused = live.rollout.paused === true || live.annotations[PAUSED_KEY] === 'true';
    if (isPaused) return note(`paused, ${count(waiting, 'pod')} waiting: ${CALLED_AS} rollout resume`);
    return ok(`${count(changing, 'pod')} under way${waiting > 0 ? `, ${waiting} waiting` : ''}`);
  });
}
