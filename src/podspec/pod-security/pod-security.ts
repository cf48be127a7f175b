import type { Pod } from '../pod.ts';
import { baselineViolations } from './pod-security-baseline.ts';
import { restrictedViolations } from './pod-security-restricted.ts';

/** The label of a namespace for the level of pod security that the API server enforces. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce';

/**
 * What the Pod Security Standards of Kubernetes 1.36 forbid in the parts of a pod that a template can add
 * (k8s.io/pod-security-admission/policy). Empty for `privileged` and for unknown levels.
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
