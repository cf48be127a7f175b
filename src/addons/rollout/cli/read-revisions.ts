import type { ClusterOptions } from '../../../cli/options/tool-options.ts';
import type { TemplateSet } from '../../../injection/template/template-set.ts';
import { isForbidden } from '../../../kube/api/api-error.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  readRevision,
  revisionName,
  STATE_LABEL,
} from '../controller-revision.ts';
import { revisionsOf, type StoredRevision } from '../core/history.ts';
import type { Revisions } from '../core/revision.ts';
import { FINDINGS, type Finding, readFindings } from '../findings.ts';

/** The revisions in the operator's namespace. */
export async function listRevisions(
  client: KubeClient,
  { operatorNamespace: namespace }: ClusterOptions,
): Promise<readonly ControllerRevision[]> {
  const { items } = await client.list(CONTROLLER_REVISIONS, { namespace, labelSelector: STATE_LABEL });
  return items.map((item) => CONTROLLER_REVISIONS.decode(item));
}

/** The states of the templates that they keep. */
export function storedIn(
  objects: readonly ControllerRevision[],
  { configmap }: ClusterOptions,
): readonly StoredRevision[] {
  return objects
    .filter(({ metadata }) => metadata.name.startsWith(`${configmap}-`))
    .flatMap((object) => readRevision(object) ?? []);
}

/** What the leader has found out about pods for these templates, by their UIDs. */
export function findingsIn(
  objects: readonly ControllerRevision[],
  { configmap }: ClusterOptions,
  { hash }: TemplateSet,
): ReadonlyMap<string, Finding> {
  const object = objects.find(({ metadata }) => metadata.name === revisionName(configmap, hash));
  return readFindings(object?.metadata.annotations?.[FINDINGS], Date.now());
}

/** What the rollout of the templates of the ConfigMap goes from and to; undefined before the operator has written it. */
export function revisionsIn(
  objects: readonly ControllerRevision[],
  options: ClusterOptions,
  set: TemplateSet,
  paused: boolean,
): Revisions | undefined {
  return revisionsOf(set, storedIn(objects, options), paused);
}

/** The same from the cluster. Undefined also without a strategy for running pods, or if the user may not read it. */
export async function readRevisions(
  client: KubeClient,
  options: ClusterOptions,
  set: TemplateSet,
): Promise<Revisions | undefined> {
  if ((set.rollout?.mode ?? 'new-pods') === 'new-pods') return undefined;
  try {
    return revisionsIn(await listRevisions(client, options), options, set, false);
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}
