import type { Pod } from '../pod.ts';
import { baselineViolations } from './pod-security-baseline.ts';
import { restrictedViolations } from './pod-security-restricted.ts';

/** The label of a namespace that says which pods the API server refuses there. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce';

/**
 * What the Pod Security Standards, as of Kubernetes 1.36, forbid in those parts of a pod that a template
 * can add (k8s.io/pod-security-admission/policy). Nothing for `privileged`, and for what is no level.
 */
export function podSecurityViolations(pod: Pod, level: string | undefined): readonly string[] {
  switch (level) {
    case 'baseline':
      return [...baselineViolations(pod)];
    case 'restricted':
      return [...baselineViolations(pod), ...restrictedViolations(pod)];
    default:
      return [];
  }
}
