import { limitRangeViolations } from '../../podspec/rules/limit-ranges.ts';
import type { ResultRule } from '../rule.ts';

export const limitRange = {
  reason: 'limit-range',
  help: 'a LimitRange of the namespace would refuse the pod with its sidecar',
  warn: true,
  // The matchConstraints of the policy exclude namespaces with a LimitRange that the template may break.
  cel: 'elsewhere',
  violations: (pod, { limitRanges = [] }) => limitRangeViolations(pod, limitRanges),
} as const satisfies ResultRule;
