import { podSecurityOf, podSecurityViolations } from '../../podspec/pod-security/pod-security.ts';
import type { ResultRule } from '../rule.ts';

export const podSecurity = {
  reason: 'pod-security',
  help: 'the namespace would refuse the pod with its sidecar',
  warn: true,
  // The matchConstraints of the policy exclude namespaces with a level or version that the template breaks.
  cel: 'elsewhere',
  violations(pod, { namespaceLabels, serverMinor }) {
    const enforced = podSecurityOf(namespaceLabels, serverMinor);
    const found = podSecurityViolations(pod, enforced);
    if (found.length === 0) return found;
    return found.map((violation) => `the namespace enforces ${enforced.level} pod security: ${violation}`);
  },
} as const satisfies ResultRule;
