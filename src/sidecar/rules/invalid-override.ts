import { celAnnotated } from '../../podspec/cel.ts';
import type { MergeRule } from '../rule.ts';

export const invalidOverride = {
  reason: 'invalid-override',
  help: 'what the pod changes about its sidecar is not right; a wrong annotation alone costs no sidecar',
  warn: true,
  cel: ({ keys }) => ({ unless: celAnnotated(Object.values(keys.overrides)) }),
} as const satisfies MergeRule;
