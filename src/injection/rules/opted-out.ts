import { describeSource } from '../opt-in.ts';
import type { PodRule } from '../rule.ts';

export const optedOut = {
  reason: 'opted-out',
  help: 'the pod or its namespace opts out with `"false"`',
  warn: false,
  // The condition of not-opted-in covers all values of the pod, and the binding covers the namespace.
  cel: 'elsewhere',
  find: ({ optIn, options }) =>
    optIn.asked === 'skip' ? `${describeSource(optIn.source)} ${options.keys.optIn} is "false"` : undefined,
} as const satisfies PodRule;
