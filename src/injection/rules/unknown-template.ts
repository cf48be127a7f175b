import { quoteText } from '../../util/clip.ts';
import { celHasKey } from '../podspec/cel.ts';
import type { DecisionInput, PodRule } from '../rule.ts';

export const unknownTemplate = {
  reason: 'unknown-template',
  help: 'the pod or its namespace names a template that does not exist',
  warn: true,
  // Conditions do not see the annotations of the namespace: the mutation looks at them.
  cel: ({ keys }) => ({ unless: celHasKey('annotations', keys.templates) }),
  find({
    unknownTemplates: [name],
    selectedBy,
    options,
  }: Pick<DecisionInput, 'unknownTemplates' | 'selectedBy' | 'options'>) {
    return name === undefined
      ? undefined
      : `the ${selectedBy}'s annotation ${options.keys.templates} names template ${quoteText(name, 32)}, which does not exist: use another, or add it to the ConfigMap`;
  },
} as const satisfies PodRule;
