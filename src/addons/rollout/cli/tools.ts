import type { ToolParts } from '../../../cli/add-on.ts';
import { CALLED_AS } from '../../../cli/io/terminal.ts';
import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import { type StatusFacts, tried } from '../../../cli/status/facts.ts';
import {
  about,
  type CheckResult,
  none,
  note,
  ok,
  problem,
  rolloutOf,
  unknown,
} from '../../../cli/status/rows.ts';
import type { TemplateRollout } from '../../../cli/survey.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { ifReadable } from '../../../kube/api/api-error.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { counted } from '../../../util/clip.ts';
import { CONTROLLER_REVISIONS, readRevision, revisionName, STATE_LABEL } from '../controller-revision.ts';
import { revisionsOf } from '../plan/revision.ts';
import { FORBIDDEN_ADVICE, PAUSED_KEY } from '../revision-history.ts';
import { readStatus, STATUS } from '../rollout-status.ts';

/** What rollouts add to the commands of the core. */
export const tools: ToolParts = {
  rollout: templateRollout,
  status: async (client, facts) => [{ check: 'rollout', ...(await verdict(client, facts)) }],
};

async function templateRollout(
  client: KubeClient,
  options: ClusterOptions,
  wanted: TemplateSet,
): Promise<TemplateRollout | undefined> {
  if (wanted.rollout === undefined) return undefined;
  const revisions = (await ifReadable(readRollout(client, options, wanted)))?.revisions;
  if (revisions === undefined) return undefined;
  const { target, promoted } = revisions;
  const { set, state } = target;
  return {
    promoted: promoted === target ? undefined : promoted.set,
    canary: state === 'canary' ? target.canary : undefined,
    text: `${CALLED_AS} rollout shows the rollout of template ${set.hash.slice(0, 12)} (${state}) to running pods`,
  };
}

async function verdict(client: KubeClient, facts: StatusFacts): Promise<CheckResult> {
  if ('unreadable' in facts.template) return unknown(facts.template.unreadable);
  const live = facts.template.value;
  const strategy = rolloutOf(facts);
  if (!live?.set || !strategy) return none('the template has no strategy for running pods');
  const { set } = live;
  const { namespace: operatorNamespace, configmap } = facts;
  return about(await tried(() => readRollout(client, { operatorNamespace, configmap }, set)), (found) => {
    if (found.revisions?.target.state === 'halted' || found.status?.phase === 'halted')
      return problem('the breaker halted the rollout', `see ${CALLED_AS} rollout`);
    const podsIn = (state: string) =>
      (found.status?.groups ?? []).reduce((sum, { is, count: n }) => sum + (is === state ? n : 0), 0);
    const [changing, waiting] = [podsIn('under-way'), podsIn('waiting')];
    const isPaused = strategy.paused === true || live.annotations[PAUSED_KEY] === 'true';
    const state = found.revisions?.target.state ?? 'none';
    if (state === 'none' || (state === 'new' && !isPaused))
      return problem('the operator has not begun it, and no pod gets the new template', FORBIDDEN_ADVICE);
    if (isPaused) return note(`paused, ${counted(waiting, 'pod')} waiting: ${CALLED_AS} rollout resume`);
    return ok(`${counted(changing, 'pod')} under way${waiting > 0 ? `, ${waiting} waiting` : ''}`);
  });
}

/** Reads the rollout of the templates of the ConfigMap, as the ControllerRevisions in the operator's namespace show it. */
export async function readRollout(
  client: KubeClient,
  { operatorNamespace: namespace, configmap }: Pick<ClusterOptions, 'operatorNamespace' | 'configmap'>,
  set: TemplateSet,
) {
  const { items } = await client.list(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const objects = items
    .map((item) => CONTROLLER_REVISIONS.decode(item))
    .filter(({ metadata }) => metadata.name.startsWith(`${configmap}-`));
  const stored = objects.flatMap((object) => readRevision(object) ?? []);
  const own = objects.find(({ metadata }) => metadata.name === revisionName(configmap, set.hash));
  return {
    /** Undefined before the operator has written the first one. */
    revisions: revisionsOf(set, stored, false),
    /** Undefined before the leader has made a step with these templates. */
    status: readStatus(own?.metadata.annotations?.[STATUS]),
  };
}
