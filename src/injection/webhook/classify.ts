import type { KubeObject } from '../../kube/api/object.ts';
import type { JsonObject } from '../../util/json.ts';
import { decide, type Injection, inject } from '../inject.ts';
import type { Keys } from '../keys.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { podCreation } from '../podspec/admission-target.ts';
import { annotation, type Pod } from '../podspec/pod.ts';
import type { DecideInput } from '../rule.ts';
import { hasContainers, isCurrent, parseStatus } from '../status.ts';
import { selectTemplates, type TemplateState } from '../template/template-set.ts';

/** What pods are compared with. */
export interface DriftBasis extends Pick<DecideInput, 'options'> {
  /** The templates that a pod would get if it were created now. */
  readonly templates: (pod: KubeObject, namespace: NamespaceSettings) => TemplateState;
}

/**
 * The state of a running pod: its sidecar comes from the current template (`current`) or another version (`stale`);
 * it needs none (`without`); or it may lack one, which metadata alone cannot show (`maybe-missed`).
 */
export type PodClass = 'current' | 'stale' | 'without' | 'maybe-missed';

/** Classifies a pod by its metadata, the only part that the cache has. */
export function classify(pod: KubeObject, namespace: NamespaceSettings, basis: DriftBasis): PodClass {
  const input = creationOf(pod, namespace, basis);
  const { options, state } = input;
  // Without a valid template there is nothing to compare with.
  if ('fault' in state) return 'without';
  const status = parseStatus(annotation(input.pod, options.keys.status));
  if (status) {
    const { templates, unknownTemplates } = selectTemplates(input.pod, namespace, options.keys, state);
    return isCurrent(status, templates) && unknownTemplates.length === 0 ? 'current' : 'stale';
  }
  // The spec is unknown here, except that it has containers.
  const { inject: isInjected } = decide({ ...input, pod: { ...input.pod, spec: { containers: [{}] } } });
  return isInjected ? 'maybe-missed' : 'without';
}

/** What would become of a pod without a sidecar if it were created now. Needs the whole pod. */
export function injectionNow(pod: KubeObject, namespace: NamespaceSettings, basis: DriftBasis): Injection {
  return inject(creationOf(pod, namespace, basis));
}

/** The pod as if it were created now. Objects of the API are always JSON. */
function creationOf(pod: KubeObject, namespace: NamespaceSettings, basis: DriftBasis): DecideInput {
  const [request, state] = [podCreation(pod.metadata.namespace ?? ''), basis.templates(pod, namespace)];
  return { request, ...namespace, options: basis.options, state, pod: pod as KubeObject & JsonObject };
}

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
  return `not the annotation ${status}: another webhook or policy removed it, so no rollout, route or check recognizes the sidecar: make the remover keep annotations`;
}
