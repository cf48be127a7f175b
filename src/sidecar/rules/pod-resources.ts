import { podResourceViolations } from '../../podspec/rules/pod-resources.ts';
import type { ResultRule } from '../rule.ts';

export const podResources = {
  reason: 'pod-resources',
  help: "the pod's own resources are too small for the sidecar",
  warn: true,
  cel: () => ({ unless: 'has(object.spec.resources)' }),
  violations: podResourceViolations,
} as const satisfies ResultRule;
