import type { KubeClient } from '../../kube/client/client.ts';
import { CONTROLLER_REVISIONS, readRevision, STATE_LABEL } from '../../rollout/controller-revision.ts';
import { revisionsOf } from '../../rollout/core/history.ts';
import type { Revisions } from '../../rollout/core/revision.ts';
import type { TemplateSet } from '../../sidecar/template/template-set.ts';
import type { ClusterOptions } from '../tool-options.ts';

/** What the rollout of the templates of the ConfigMap goes from and to; undefined before the operator has written it. */
export async function readRevisions(
  client: KubeClient,
  { operatorNamespace: namespace, configmap }: ClusterOptions,
  set: TemplateSet,
  paused: boolean,
): Promise<Revisions | undefined> {
  const { items } = await client.list(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  const stored = items
    .map((item) => CONTROLLER_REVISIONS.decode(item))
    .filter(({ metadata }) => metadata.name.startsWith(`${configmap}-`))
    .flatMap((object) => readRevision(object) ?? []);
  return revisionsOf(set, stored, paused);
}
