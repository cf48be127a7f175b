import { quoteText } from '../../util/clip.ts';
import { describeSource } from '../opt-in.ts';
import type { PodRule } from '../rule.ts';

export const invalidValue = {
  reason: 'invalid-value',
  help: 'the opt-in is neither `"true"` nor `"false"`',
  warn: true,
  // The condition of not-opted-in covers all values of the pod, and the binding covers the namespace.
  cel: 'elsewhere',
  find({ optIn, options }) {
    if (optIn.asked !== 'invalid') return undefined;
    const value = quoteText(optIn.value, 32);
    return `${describeSource(optIn.source)} ${options.keys.optIn} is ${value}: write "true" or "false"`;
  },
} as const satisfies PodRule;
