import type { KubeObject } from '../../kube/api/object.ts';
import type { JsonObject } from '../../util/json.ts';
import { decide } from '../decide.ts';
import { inject } from '../inject.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { podCreation } from '../podspec/admission-target.ts';
import { annotation } from '../podspec/pod.ts';
import type { DecideOptions } from '../rule.ts';
import type { SkipReason } from '../rules/index.ts';
import { isCurrent, parseStatus } from '../status.ts';
import { selectTemplates, type TemplateState } from '../template/template-set.ts';

/** What pods are compared with. */
export interface DriftBasis {
  readonly options: DecideOptions;
  readonly state: TemplateState;
}

/**
 * The state of a running pod: its sidecar comes from the current template (`current`) or another version (`stale`);
 * it needs none (`without`); or it may lack one, which metadata alone cannot show (`maybe-missed`).
 */
export type PodClass = 'current' | 'stale' | 'without' | 'maybe-missed';

/** Classifies a pod by its metadata, the only part that the cache has. */
export function classify(
  pod: KubeObject,
  namespace: NamespaceSettings,
  { options, state }: DriftBasis,
): PodClass {
  // Without a valid template there is nothing to compare with.
  if ('fault' in state) return 'without';
  const json = toJson(pod);
  const status = parseStatus(annotation(json, options.keys.status));
  if (status) {
    const { templates, unknownTemplates } = selectTemplates(json, namespace, options.keys, state);
    return isCurrent(status, templates) && unknownTemplates.length === 0 ? 'current' : 'stale';
  }
  // The spec is unknown here, except that it has containers.
  const whole = { ...json, spec: { containers: [{}] } };
  const decision = decide({ ...subject(pod, namespace, options), pod: whole, state });
  return decision.inject ? 'maybe-missed' : 'without';
}

/** Whether a pod without a sidecar would get one if it were created now. Needs the whole pod. */
export function isMissed(
  pod: KubeObject,
  namespace: NamespaceSettings,
  { options, state }: DriftBasis,
): boolean {
  return inject({ ...subject(pod, namespace, options), pod: toJson(pod), state }).outcome === 'injected';
}

/** Why a pod that asked for a sidecar gets none, as the warning at its creation said; undefined for other pods. */
export function skipReason(
  pod: KubeObject,
  namespace: NamespaceSettings,
  { options, state }: DriftBasis,
): SkipReason | undefined {
  const result = inject({ ...subject(pod, namespace, options), pod: toJson(pod), state });
  return result.outcome !== 'injected' && result.skip.warn ? result.skip.reason : undefined;
}

function subject({ metadata }: KubeObject, namespace: NamespaceSettings, options: DecideOptions) {
  return { request: podCreation(metadata.namespace ?? ''), ...namespace, options };
}

/** Objects of the API are always JSON. */
function toJson(pod: KubeObject): JsonObject {
  return pod as KubeObject & JsonObject;
}
