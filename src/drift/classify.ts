import type { JsonObject } from '../json/json.ts';
import type { KubeObject } from '../kube/api/object.ts';
import { podCreation } from '../podspec/admission-target.ts';
import { annotation } from '../podspec/pod.ts';
import { decide } from '../sidecar/decide.ts';
import type { DecideOptions } from '../sidecar/decision-input.ts';
import { inject } from '../sidecar/inject.ts';
import { parseStatus } from '../sidecar/status.ts';
import { selectTemplates, type TemplateState } from '../sidecar/template/template-set.ts';

/** What pods are held against. */
export interface FleetBasis {
  readonly options: DecideOptions;
  readonly state: TemplateState;
}

/**
 * What is to be said of a pod that runs: its sidecar is that of the template as it is now, or of another state of it; it
 * has none and is to have none; or it may have been missed, which its metadata alone cannot tell.
 */
export type PodClass = 'current' | 'stale' | 'without' | 'maybe-missed';

/** Judges by metadata alone, as a cache of many pods has it. */
export function classify(
  pod: KubeObject,
  namespaceLabels: Readonly<Record<string, string>>,
  { options, state }: FleetBasis,
): PodClass {
  // Nothing can be held against templates that nobody has seen.
  if ('fault' in state) return 'without';
  const json = toJson(pod);
  const status = parseStatus(annotation(json, options.keys.status));
  if (status) {
    const { templates, unknownTemplates } = selectTemplates(json, options.keys, state);
    const [now, then] = [templates.map(({ name, hash }) => `${name}@${hash}`), status.templates];
    const isSame = now.join() === then.map(({ name, sha256 }) => `${name}@${sha256}`).join();
    return isSame && unknownTemplates.length === 0 ? 'current' : 'stale';
  }
  // Its spec is not known here. That there are containers in it is.
  const whole = { ...json, spec: { containers: [{}] } };
  const decision = decide({ ...subject(pod, namespaceLabels, options), pod: whole, state });
  return decision.inject ? 'maybe-missed' : 'without';
}

/** Whether a whole pod, as it runs without a sidecar, would get one if it were created now. */
export function isMissed(
  pod: KubeObject,
  namespaceLabels: Readonly<Record<string, string>>,
  { options, state }: FleetBasis,
): boolean {
  return (
    inject({ ...subject(pod, namespaceLabels, options), pod: toJson(pod), state }).outcome === 'injected'
  );
}

function subject(
  { metadata }: KubeObject,
  namespaceLabels: Readonly<Record<string, string>>,
  options: DecideOptions,
) {
  return { request: podCreation(metadata.namespace ?? ''), namespaceLabels, options };
}

/** Objects of the API are JSON. */
function toJson(pod: KubeObject): JsonObject {
  return pod as KubeObject & JsonObject;
}
