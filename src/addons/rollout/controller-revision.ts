import type { CanaryScope } from '../../injection/template/strategy.ts';
import { parseTemplateConfigMap, STRATEGY_KEY } from '../../injection/template/template-set.ts';
import type { ConfigMap } from '../../kube/api/core-resources.ts';
import type { KubeObject } from '../../kube/api/object.ts';
import { kindOf, type Resource } from '../../kube/api/resource.ts';
import { OWN_LABELS } from '../../util/identity.ts';
import { isObject, type JsonObject, own, ownString, stringsIn } from '../../util/json.ts';
import { parseAnnotation } from '../../util/text-bounds.ts';
import type { StoredRevision } from './plan/revision.ts';

/** The label with the state of a revision. */
export const STATE_LABEL = 'initializer.kubernetes.io/revision-state';
/** The annotation with the times and the canary of a revision, as JSON. */
const DETAILS = 'initializer.kubernetes.io/revision';

/** apps/v1 ControllerRevision: the fields that are read here. */
export interface ControllerRevision extends KubeObject {
  readonly data?: unknown;
  readonly revision?: number;
}

export const CONTROLLER_REVISIONS: Resource<ControllerRevision> = kindOf('apps/v1', 'ControllerRevision');

/** What is written about a state. */
export type RevisionDetails = Omit<StoredRevision, 'name' | 'set'>;

/** The labels and annotations of a revision. */
export function detailsMetadata({ state, since, canary, heldSince }: RevisionDetails) {
  const details = {
    since: new Date(since).toISOString(),
    canary,
    ...(heldSince !== undefined && { heldSince: new Date(heldSince).toISOString() }),
  };
  return {
    labels: { ...OWN_LABELS, [STATE_LABEL]: state },
    annotations: { [DETAILS]: JSON.stringify(details) },
  };
}

/** The name of the revision of a template set: the same templates have the same one. */
export function revisionName(configMap: string, hash: string): string {
  return `${configMap}-${hash.slice(0, 12)}`;
}

/**
 * A new revision with the templates of the ConfigMap. It outlives that: the operator restores a ConfigMap that was deleted, and
 * what was halted must stay so.
 */
export function newRevision(
  { metadata, data = {} }: ConfigMap,
  hash: string,
  revision: number,
  details: RevisionDetails,
): ControllerRevision {
  const { name, namespace = '' } = metadata;
  const { [STRATEGY_KEY]: _, ...templates } = data;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      namespace,
      name: revisionName(name, hash),
      ...detailsMetadata(details),
    },
    data: templates,
    revision,
  };
}

/** Reads a revision; undefined if it is not one of ours, or was written by another program. */
export function readRevision({ metadata, data }: ControllerRevision): StoredRevision | undefined {
  const state = metadata.labels?.[STATE_LABEL];
  if (state !== 'canary' && state !== 'promoted' && state !== 'halted' && state !== 'superseded')
    return undefined;
  const details = parseAnnotation(metadata.annotations?.[DETAILS] ?? '');
  const since = Date.parse(ownString(details, 'since') ?? '');
  const heldSince = Date.parse(ownString(details, 'heldSince') ?? '');
  const canary = own(details, 'canary');
  const parsed = isObject(data) ? parseTemplateConfigMap(stringsIn(data)) : { faults: [] };
  if ('faults' in parsed || Number.isNaN(since)) return undefined;
  return {
    name: metadata.name,
    set: parsed.set,
    state,
    since,
    canary: readCanary(canary),
    heldSince: Number.isNaN(heldSince) ? undefined : heldSince,
  };
}

function readCanary(value: JsonObject[string] | undefined): CanaryScope {
  const [percent, namespaces] = [own(value, 'percent'), own(value, 'namespaces')];
  return {
    percent: typeof percent === 'number' ? percent : 0,
    namespaces: isObject(namespaces) ? stringsIn(namespaces) : undefined,
  };
}
