import { annotation, label, type Pod } from '../podspec/pod.ts';
import type { Keys } from './keys.ts';

/** Who asked, the first of these that says anything. */
export type OptInSource = 'pod-label' | 'pod-annotation' | 'namespace-label' | 'all-pods';

/** What was asked for, and by whom. */
export type OptIn =
  | { readonly asked: 'inject' | 'skip'; readonly source: OptInSource }
  | { readonly asked: 'invalid'; readonly source: OptInSource; readonly value: string }
  | { readonly asked: 'nothing' };

export interface OptInOptions {
  readonly keys: Keys;
  /** False: pods that nobody opted in or out are injected too (`--require-annotation=false`). */
  readonly requireAnnotation: boolean;
}

/**
 * Label before annotation, pod before namespace, and the all-pods rule last. The first that is there
 * decides, even by a value that is neither true nor false: a mistyped `"fasle"` on a pod must not fall
 * through to a namespace that says `"true"`.
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

/** Whether the pod itself says `"true"`: then it must not be admitted in silence without its sidecar. */
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
export function describeSource(source: OptInSource): string {
  switch (source) {
    case 'pod-label':
      return "the pod's label";
    case 'pod-annotation':
      return "the pod's annotation";
    case 'namespace-label':
      return "the namespace's label";
    case 'all-pods':
      return 'the rule for all pods';
  }
}
