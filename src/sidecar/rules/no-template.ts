import type { PodRule } from '../rule.ts';

export const noTemplate = {
  reason: 'no-template',
  help: 'there has not been a good template yet',
  warn: true,
  // Without a template there is no policy.
  cel: 'elsewhere',
  find: ({ state }) => ('fault' in state ? `there is no good template: ${state.fault}` : undefined),
} as const satisfies PodRule;
