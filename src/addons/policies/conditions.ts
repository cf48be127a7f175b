import type { PolicySubject } from '../../injection/rule.ts';
import { RULES, type SkipReason } from '../../injection/rules/index.ts';

/** A condition that a pod must meet, named by the reason to skip it. */
export interface MatchCondition {
  readonly name: SkipReason;
  readonly expression: string;
}

/** The conditions for a policy to inject a pod, in the order of the rules. Other pods are left to the webhook. */
export function matchConditions(subject: PolicySubject): readonly MatchCondition[] {
  return RULES.flatMap(({ reason: name, cel }) => {
    const condition = cel === 'elsewhere' ? undefined : cel(subject);
    if (!condition) return [];
    return [{ name, expression: 'only' in condition ? condition.only : `!(${condition.unless})` }];
  });
}
