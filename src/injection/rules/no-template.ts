import type { PodRule } from '../rule.ts';

export const noTemplate = {
  reason: 'no-template',
  help: 'the operator has no valid template',
  warn: true,
  // Without a template there is no policy.
  cel: 'elsewhere',
  find: ({ state }) => ('fault' in state ? `the operator has no valid template: ${state.fault}` : undefined),
} as const satisfies PodRule;
