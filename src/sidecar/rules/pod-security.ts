import { ENFORCE_LABEL, podSecurityViolations } from '../../podspec/pod-security/pod-security.ts';
import type { ResultRule } from '../rule.ts';

export const podSecurity = {
  reason: 'pod-security',
  help: 'the namespace would refuse the pod with its sidecar',
  warn: true,
  // The matchConstraints of the policy exclude namespaces with a level that the template breaks.
  cel: 'elsewhere',
  violations(pod, namespaceLabels) {
    const level = Object.hasOwn(namespaceLabels, ENFORCE_LABEL) ? namespaceLabels[ENFORCE_LABEL] : undefined;
    const found = podSecurityViolations(pod, level);
    if (found.length === 0) return found;
    return found.map((violation) => `the namespace enforces ${level} pod security: ${violation}`);
  },
} as const satisfies ResultRule;
