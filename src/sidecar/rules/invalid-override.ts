import { celAnnotated } from '../../podspec/cel.ts';
import type { MergeRule } from '../rule.ts';

export const invalidOverride = {
  reason: 'invalid-override',
  help: "the pod's changes to the sidecar are invalid; an invalid annotation alone is ignored",
  warn: true,
  cel: ({ keys }) => ({ unless: celAnnotated(Object.values(keys.overrides)) }),
} as const satisfies MergeRule;
