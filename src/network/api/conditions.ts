import type { Condition } from './types.ts';

/** The types that are ours, in the order in which we write them. */
export const CONDITION_TYPES = ['Accepted', 'Ready', 'Progressing', 'InUse'] as const;

export type ConditionType = (typeof CONDITION_TYPES)[number];

/** What a condition is to say now. */
export interface ConditionUpdate {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

export type ConditionUpdates = Readonly<Record<ConditionType, ConditionUpdate>>;

/** The CRD's own bound of a condition's message. */
const MAX_MESSAGE_LENGTH = 32_768;

/** When and of which spec the updates were reached. */
export interface Judgement {
  readonly generation: number | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * The updates as conditions. lastTransitionTime stays while the status does, whatever the reason and the message do
 * (Kubernetes API conventions, "Typical status properties"). A type without an update keeps its condition; those of
 * others are left out, since server-side apply leaves them alone.
 */
export function conditionsOf(
  updates: Partial<ConditionUpdates>,
  previous: readonly Condition[] | undefined,
  { generation, now }: Judgement,
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
