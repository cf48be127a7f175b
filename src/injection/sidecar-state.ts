import type { Keys } from './keys.ts';
import type { NamespaceSettings } from './namespace-settings.ts';
import { annotation, type Pod } from './podspec/pod.ts';
import { hasContainers, isCurrent, parseStatus } from './status.ts';
import { selectTemplates, type TemplateState } from './template/template-set.ts';

/**
 * The sidecar of an existing pod: from the current template (`current`), from another state of it (`stale`), or none.
 * `unmarked`: the pod has its containers, but not the annotation by which the operator knows them.
 */
export type SidecarState = 'current' | 'stale' | 'unmarked' | 'absent';

export function sidecarState(
  pod: Pod,
  namespace: NamespaceSettings,
  keys: Keys,
  state: TemplateState,
): SidecarState {
  const status = parseStatus(annotation(pod, keys.status));
  const { templates, unknownTemplates } = selectTemplates(pod, namespace, keys, state);
  const isThere = hasContainers(pod, templates);
  if (!status) return templates.length > 0 && isThere ? 'unmarked' : 'absent';
  return unknownTemplates.length === 0 && isThere && isCurrent(status, templates) ? 'current' : 'stale';
}

/** Why a pod may be `unmarked`, as the end of a sentence, and what to do. */
export function unmarkedBecause({ status }: Keys): string {
  return `not the annotation ${status}: another webhook or policy has removed it, so no rollout, route or check recognizes the sidecar: change it to keep annotations`;
}
