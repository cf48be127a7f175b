import type { Keys } from './keys.ts';
import { annotation, label, type Pod } from './podspec/pod.ts';

/** Where the decision comes from: the first of these that has a value. */
export type OptInSource = 'pod-label' | 'pod-annotation' | 'namespace-label' | 'all-pods';

/** The decision to opt in or out, and its source. */
export type OptIn =
  | { readonly asked: 'inject' | 'skip'; readonly source: OptInSource }
  | { readonly asked: 'invalid'; readonly source: OptInSource; readonly value: string }
  | { readonly asked: 'nothing' };

export interface OptInOptions {
  readonly keys: Keys;
  /** If false, pods with no opt-in or opt-out are injected too (`--require-annotation=false`). */
  readonly requireAnnotation: boolean;
}

/**
 * Resolves the opt-in: label before annotation, pod before namespace, and the all-pods rule last. The first
 * value decides, even if it is neither true nor false: a mistyped `"fasle"` on a pod must not fall through to
 * a namespace that says `"true"`.
 */
export function resolveOptIn(
  pod: Pod,
  namespaceLabels: Readonly<Record<string, string>>,
  { keys, requireAnnotation }: OptInOptions,
): OptIn {
  const key = keys.optIn;
  const said =
    valueFrom('pod-label', label(pod, key)) ??
    valueFrom('pod-annotation', annotation(pod, key)) ??
    valueFrom('namespace-label', Object.hasOwn(namespaceLabels, key) ? namespaceLabels[key] : undefined);
  if (said) return said;
  return requireAnnotation ? { asked: 'nothing' } : { asked: 'inject', source: 'all-pods' };
}

/** Whether the pod itself says `"true"`. Such a pod must not lack its sidecar silently. */
export function isExplicit(optIn: OptIn): boolean {
  return optIn.asked === 'inject' && (optIn.source === 'pod-label' || optIn.source === 'pod-annotation');
}

function valueFrom(source: OptInSource, value: string | undefined): OptIn | undefined {
  if (value === undefined) return undefined;
  if (value === 'true') return { asked: 'inject', source };
  if (value === 'false') return { asked: 'skip', source };
  return { asked: 'invalid', source, value };
}

/** The source as part of a sentence. */
export const SOURCES: Readonly<Record<OptInSource, string>> = {
  'pod-label': "the pod's label",
  'pod-annotation': "the pod's annotation",
  'namespace-label': "the namespace's label",
  'all-pods': 'the rule for all pods',
};
