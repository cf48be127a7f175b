import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { ifReadable } from '../../../kube/api/api-error.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { CONTROLLER_REVISIONS, readRevision, revisionName, STATE_LABEL } from '../controller-revision.ts';
import { type Revisions, revisionsOf } from '../plan/revision.ts';
import { type RolloutStatus, readStatus, STATUS } from '../rollout-status.ts';

/** A rollout as the ControllerRevisions in the operator's namespace show it. */
export interface LiveRollout {
  /** Undefined before the operator has written the first one. */
  readonly revisions: Revisions | undefined;
  /** Undefined before the leader has made a step with these templates. */
  readonly status: RolloutStatus | undefined;
}

/** Reads the rollout of the templates of the ConfigMap. */
export async function readRollout(
  client: KubeClient,
  { operatorNamespace: namespace, configmap }: Pick<ClusterOptions, 'operatorNamespace' | 'configmap'>,
  set: TemplateSet,
): Promise<LiveRollout> {
  const { items } = await client.list(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const objects = items
    .map((item) => CONTROLLER_REVISIONS.decode(item))
    .filter(({ metadata }) => metadata.name.startsWith(`${configmap}-`));
  const stored = objects.flatMap((object) => readRevision(object) ?? []);
  const own = objects.find(({ metadata }) => metadata.name === revisionName(configmap, set.hash));
  return {
    revisions: revisionsOf(set, stored, false),
    status: readStatus(own?.metadata.annotations?.[STATUS]),
  };
}

/** What it goes from and to; undefined also without a strategy for running pods, or if the user may not read it. */
export async function readRevisions(
  client: KubeClient,
  options: ClusterOptions,
  set: TemplateSet,
): Promise<Revisions | undefined> {
  if ((set.rollout?.mode ?? 'new-pods') === 'new-pods') return undefined;
  return (await ifReadable(readRollout(client, options, set)))?.revisions;
}
