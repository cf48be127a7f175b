import type { PodRule } from '../rule.ts';

export const noTemplate = {
  reason: 'no-template',
  help: 'the operator has no valid template',
  warn: true,
  // Without a template there is no policy.
  cel: 'elsewhere',
  find: ({ state }) => ('fault' in state ? `there is no good template: ${state.fault}` : undefined),
} as const satisfies PodRule;
