import { RULES, type SkipReason } from '../sidecar/reason.ts';
import type { PolicySubject } from '../sidecar/rule.ts';

/** A condition that a pod must meet, by the name under which the policy has it. */
export interface MatchCondition {
  readonly name: SkipReason;
  readonly expression: string;
}

/** What a pod must be for a policy to inject it, in the order of the rules. Other pods are left to the webhook. */
export function matchConditions(subject: PolicySubject): readonly MatchCondition[] {
  return RULES.flatMap(({ reason: name, cel }) => {
    const condition = cel === 'elsewhere' ? undefined : cel(subject);
    if (!condition) return [];
    return [{ name, expression: 'only' in condition ? condition.only : `!(${condition.unless})` }];
  });
}
