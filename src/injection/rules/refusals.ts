import { podSecurityOf, podSecurityViolations } from '../podspec/pod-security.ts';
import { gracePeriodViolations, longestSleep } from '../podspec/rules/grace-period.ts';
import { limitRangeViolations } from '../podspec/rules/limit-ranges.ts';
import { podResourceViolations } from '../podspec/rules/pod-resources.ts';
import type { ResultRule } from '../rule.ts';

// What the API server refuses in a pod with its sidecar.

export const podResources = {
  reason: 'pod-resources',
  help: "the pod's own resources are too small for the sidecar",
  warn: true,
  cel: () => ({ unless: 'has(object.spec.resources)' }),
  violations: podResourceViolations,
} as const satisfies ResultRule;

export const gracePeriod = {
  reason: 'grace-period',
  help: "the sidecar's hooks sleep longer than the pod's grace period",
  warn: true,
  cel({ template }) {
    const seconds = longestSleep([...template.containers, ...template.initContainers]);
    const given = 'object.spec.terminationGracePeriodSeconds';
    return seconds === 0 ? undefined : { unless: `has(${given}) && ${given} < ${seconds}` };
  },
  violations: gracePeriodViolations,
} as const satisfies ResultRule;

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

export const limitRange = {
  reason: 'limit-range',
  help: 'a LimitRange of the namespace would refuse the pod with its sidecar',
  warn: true,
  // The matchConstraints of the policy exclude namespaces with a LimitRange that the template may break.
  cel: 'elsewhere',
  violations: (pod, { limitRanges = [] }) => limitRangeViolations(pod, limitRanges),
} as const satisfies ResultRule;
