import type { Condition } from './types.ts';

/** The operator's condition types, in the order of the status. */
export const CONDITION_TYPES = ['Accepted', 'Ready', 'NodesReady', 'Progressing', 'InUse'] as const;

export type ConditionType = (typeof CONDITION_TYPES)[number];

export type ConditionUpdate = Pick<Condition, 'status' | 'reason' | 'message'>;

/** Not each provider has conditions of nodes. */
export type ConditionUpdates = Readonly<Record<Exclude<ConditionType, 'NodesReady'>, ConditionUpdate>> & {
  readonly NodesReady?: ConditionUpdate;
};

/** The CRD's limit for the message of a condition. */
const MAX_MESSAGE_LENGTH = 32_768;

/**
 * Returns the updates of a time as conditions, about a generation of the spec. lastTransitionTime changes only with the status (Kubernetes API conventions,
 * "Typical status properties"). A type without an update keeps its condition. Conditions of other writers are left
 * out, because server-side apply does not touch them.
 */
export function conditionsOf(
  updates: Partial<ConditionUpdates>,
  previous: readonly Condition[] | undefined,
  { generation, now }: { readonly generation: number | undefined; readonly now: string },
): readonly Condition[] {
  return CONDITION_TYPES.flatMap((type) => {
    const before = conditionOf(previous, type);
    const update = updates[type];
    if (!update) return before ?? [];
    return {
      type,
      ...update,
      message: update.message.slice(0, MAX_MESSAGE_LENGTH),
      lastTransitionTime: before?.status === update.status ? before.lastTransitionTime : now,
      ...(generation !== undefined && { observedGeneration: generation }),
    };
  });
}

export function conditionOf(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
