import { gracePeriodViolations, longestSleep } from '../../podspec/rules/grace-period.ts';
import type { ResultRule } from '../rule.ts';

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
