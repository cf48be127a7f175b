import { ROLLOUT_ANNOTATION } from '../../../injection/keys.ts';
import type { NamespaceSettings } from '../../../injection/namespace-settings.ts';
import type { Status } from '../../../injection/status.ts';
import type { Strategy } from '../../../injection/template/strategy.ts';
import { type TemplateSet, templatesNamed } from '../../../injection/template/template-set.ts';
import type { Reason, RolloutPod } from './pod.ts';

/**
 * How the sidecar of a pod relates to a template set, by its metadata alone: it has the templates; it can get them in
 * place; its parts have another shape, or its status does not say which; or it selects a template that does not exist.
 */
export type Relation = 'current' | 'in-place' | 'replace' | 'unknown-template';

export function relate(
  { templates: applied }: Pick<Status, 'templates'>,
  selects: string | undefined,
  namespace: NamespaceSettings,
  set: TemplateSet,
): Relation {
  const { templates, unknownTemplates } = templatesNamed(selects, namespace, set);
  if (unknownTemplates.length > 0) return 'unknown-template';
  if (applied.length !== templates.length) return 'replace';
  if (templates.every(({ name, hash }, i) => applied[i]?.name === name && applied[i].sha256 === hash))
    return 'current';
  const sameShape = templates.every(
    ({ name, shape }, i) => applied[i]?.name === name && applied[i].shape === shape,
  );
  return sameShape ? 'in-place' : 'replace';
}

/** What has to happen to a pod, apart from whose turn it is. */
export type Standing =
  | { readonly is: 'current' }
  | { readonly is: 'candidate'; readonly how: 'change' | 'evict' }
  | { readonly is: 'left' | 'refused'; readonly why: Reason; readonly message?: string };

/** What the standing of a pod depends on, apart from the pod. */
export interface Situation {
  readonly set: TemplateSet;
  readonly strategy: Pick<Strategy, 'mode' | 'singleReplica'>;
  /** The pods of its workload that are not being deleted. */
  readonly replicas: number;
}

/** A pod of which only metadata may be known. */
export type MetadataPod = Pick<RolloutPod, 'namespace' | 'selects' | 'owner' | 'isOptedOut'> &
  Partial<Pick<RolloutPod, 'ready' | 'verdict' | 'isConfigStale' | 'endsByItself'>>;

/** Whether the pod or its namespace keeps rollouts away. */
export function isOptedOut(pod: Pick<RolloutPod, 'isOptedOut' | 'namespace'>): boolean {
  return pod.isOptedOut || pod.namespace.namespaceLabels[ROLLOUT_ANNOTATION] === 'false';
}

/** The rules for what may happen to a pod with a sidecar: one place for the forecast, the rollout and its status. */
export function standingOf(pod: MetadataPod, status: Status, situation: Situation): Standing {
  const { set, strategy, replicas } = situation;
  const relation = relate(status, pod.selects, pod.namespace, set);
  const { verdict } = pod;
  if (relation === 'current' && !pod.isConfigStale) return { is: 'current' };
  if (relation === 'unknown-template') return { is: 'refused', why: 'unknown-template' };
  if (isOptedOut(pod)) return { is: 'left', why: 'opted-out' };
  if (pod.owner?.kind === 'Job' || pod.endsByItself) return { is: 'left', why: 'job' };
  if (verdict?.how === 'refused') return { is: 'refused', why: 'refused', message: verdict.why };
  const isReplaced = relation === 'replace' || verdict !== undefined;
  const message = verdict && { message: verdict.why };
  if (isReplaced && strategy.mode !== 'in-place-or-replace')
    return { is: 'left', why: 'not-in-place', ...message };
  if (isReplaced && pod.owner === undefined) return { is: 'left', why: 'no-controller', ...message };
  // A pod that serves nothing now has nothing to lose.
  if (replicas <= 1 && strategy.singleReplica === 'leave' && pod.ready !== false)
    return { is: 'left', why: 'single-replica' };
  return { is: 'candidate', how: isReplaced ? 'evict' : 'change' };
}
