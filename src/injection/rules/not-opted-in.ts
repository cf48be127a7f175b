import { celAnyOf, celHasKey, celSaysTrue } from '../podspec/cel.ts';
import type { PodRule } from '../rule.ts';

export const notOptedIn = {
  reason: 'not-opted-in',
  help: 'neither the pod nor its namespace opts in',
  warn: false,
  cel: ({ audience, keys: { optIn } }) =>
    audience === 'pod'
      ? { only: celSaysTrue(optIn) }
      : { unless: celAnyOf([celHasKey('labels', optIn), celHasKey('annotations', optIn)]) },
  find: ({ optIn, options }) =>
    optIn.asked === 'nothing'
      ? `neither the pod nor its namespace has ${options.keys.optIn}: "true"`
      : undefined,
} as const satisfies PodRule;
